"""Table filters: TiDB's rules, the case of names, system schemas, and errors that say where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import ConfigError
from tailrace.route.filter import SYSTEM_SCHEMAS, Matcher, TableFilter
from tailrace.route.pattern import lower

Names = list[str]


@pytest.mark.parametrize(
    ("rules", "inside", "outside"),
    [
        (["*.*", "!foo1.*"], ["foo.bar", "foo2.bar"], ["foo1.bar"]),
        (["/^foo/.*", "!/^foo/./^sbtest-\\d/"], ["foo.sbtest"], ["foo1.sbtest-1", "fff.bar"]),
        (["*.*", "!foo[bar].*", "!bar?.*"], ["foo[bar].b", "ba.c", "bazzz.g", "afooa.i"], ["foor.a", "bar?.d"]),
        (["*.*", "!/^FOO/.*", "!*./FoO$/"], ["foo2.b", "Foo4.dfoo", "5.5"], ["FOO1.a", "BoO3.cFoO"]),
        (["*.*", "!a?b?./f[0-9]/"], ["aaaa.f2", "5.5", "abbc.fa"], ["abbd.f1"]),
        (["*.*", "!/t[0-8]/.a??"], ["t9.a02", "5.5", "t8.a001"], ["t1.a01"]),
        (["*.*", "!a*.A*"], ["AaB.aab"], ["aB.Ab", "acB.Afb"]),
        (["BAR.*"], ["BAR.a"], ["bar.a"]),
        (["# comment", "x.y", "", "  \t"], ["x.y"], ["y.y"]),
        (["p_123$.45", "中文.表名"], ["p_123$.45", "中文.表名"], ["p_123.45", "英文.表名"]),
        (["\\\\\\..*"], ["\\..a"], ["\\\\\\..b", "\\a.c"]),
        (["[!a-z].[^a-z]"], ["!.z", "!.^", "1.z", "1.^"], ["!.9", "a.z", "a.^", "a.9", "1.9"]),
        (["db*.*", "!*.cfg*", "*.cfgsample"], ["db1.t", "db1.cfgsample", "else.cfgsample"], ["else.t", "db1.cfg1"]),
        (["*.*", "!S.D[!a-d]"], ["S.Da", "S.Db", "S.Daa"], ["S.D1"]),
        (["*.*", "!S.D[a-d]"], ["S.D1", "S.Daa"], ["S.Da", "S.Db"]),
        (["/a\\/b/.*"], ["xa/bx.t"], ["ab.t"]),
        (["a*.t"], ["a\nb.t"], ["b.t"]),
    ],
)
def test_rules_choose_tables_as_tidb_does(rules: Names, inside: Names, outside: Names) -> None:
    chosen = TableFilter(rules, case_sensitive=True)
    for name, expected in [*((name, True) for name in inside), *((name, False) for name in outside)]:
        # The last dot divides, but for a schema whose own name ends in one.
        schema, _, table = name.rpartition(".")
        assert chosen.matches(schema, table) == expected, name


def test_quoted_names_are_literal() -> None:
    chosen = TableFilter(['"some ""quoted""".`identi``fiers?`'], case_sensitive=True)
    assert chosen.matches('some "quoted"', "identi`fiers?")
    assert not chosen.matches('some "quoted"', "identi`fiers!") and not chosen.matches(
        'some ""quoted""', "identi`fiers?"
    )


def test_without_case_everything_is_compared_in_lower_case() -> None:
    chosen = TableFilter(["*.*", "!/^FOO/.*", "!*./FoO$/", "Σχήμα.T[A-C]"])
    assert chosen.matches("ΣΧΉΜΑ", "ta") and chosen.matches("5", "5")
    assert not chosen.matches("foo2", "b") and not chosen.matches("x", "dFOO")


@given(st.text())
def test_lower_case_keeps_the_length_and_settles(name: str) -> None:
    assert len(lower(name)) == len(name) and lower(lower(name)) == lower(name)


def test_no_rules_are_every_table_but_those_of_the_system() -> None:
    chosen = TableFilter([])
    assert chosen.matches("shop", "orders") and chosen.matches_schema("shop")
    for schema in SYSTEM_SCHEMAS:
        assert not chosen.matches(schema.upper(), "t") and not chosen.matches_schema(schema)


def test_rules_that_say_nothing_are_no_table() -> None:
    assert not TableFilter(["", "# all of them"]).matches("a", "b")
    assert not Matcher([]).matches("a", "b")


def test_a_schema_is_out_only_when_all_its_tables_are() -> None:
    rules = TableFilter(["*.*", "!foo.bar", "!gone.*"], case_sensitive=True)
    assert rules.matches_schema("foo") and not rules.matches_schema("gone")
    assert not TableFilter(["a.t"]).matches_schema("b") and TableFilter(["a.t"]).matches_schema("A")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("db", "the table is missing, at character 3"),
        ("a.b.c", "nothing may stand behind the table, at character 4"),
        ("a%b.c", "'%'"),
        ("a\\tb.c", "(t) can not be escaped, at character 2"),
        ("[].*", "character class"),
        ("[.*", "character class"),
        ("[\\d\\D].*", "character class"),
        ("[!].*", "character class"),
        ("[z-a].*", "invalid regular expression"),
        ("db.", "a pattern is missing"),
        ("`db`*.*", "a dot is missing"),
        ("/db.*", "no slash ends"),
        ("`db.*", "no ` ends"),
        ('"db.*', 'no " ends'),
        ("db\\", "stands at the end"),
        ("db.tbl#not comment", "'#'"),
        ("/^t[0-9]+((?!_copy).)*$/.*", "invalid regular expression"),
        ("/^t[0-9]+sp(?=copy).*/.*", "invalid regular expression"),
        ("@rules.txt", "can not be imported"),
    ],
)
def test_a_wrong_rule_is_named_with_its_place(rule: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TableFilter(["*.*", rule])
    assert "filter.rules[1]" in refused.value.message and said in refused.value.message


@given(st.text(max_size=12))
def test_any_text_is_a_rule_or_is_refused(rule: str) -> None:
    try:
        TableFilter([rule]).matches("schema", "table")
    except ConfigError as refused:
        assert "filter.rules[0]" in refused.message


_name = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)


@given(_name, _name, st.booleans())
def test_a_quoted_name_matches_itself(schema: str, table: str, case_sensitive: bool) -> None:
    rule = ".".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in (schema, table))
    assert Matcher([rule], case_sensitive).matches(schema, table)
