"""Topics: names are made safe, expressions are checked, and a rule that is wrong is named."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.config import DispatchRule
from tailrace.errors import ConfigError
from tailrace.route.dispatch import Dispatch
from tailrace.route.topic import parse


def rule(*matcher: str, topic: str = "", partition: str = "") -> DispatchRule:
    return DispatchRule(matcher, partition, "", (), topic)


@pytest.mark.parametrize(
    ("expression", "schema", "table", "topic"),
    [
        ("abc{schema}", "DEF", "t", "abcDEF"),
        ("abc._-def{schema}abc", "HELLO", "t", "abc._-defHELLOabc"),
        ("{schema}", ".", "t", "_"),
        ("{schema}", "..", "t", "__"),
        ("abc{schema}def", "你好", "t", "abc__def"),
        ("abc_def{schema}", "!@#$%^&*()_+.{}", "t", "abc_def____________.__"),
        ("{schema}_{table}", "你好", "世界", "_____"),
        ("{schema}_{table}", "hello", "!@#$%^&*", "hello_________"),
        ("{schema}_{table}", "()_+.{}", "world", "____.___world"),
        ("ab.-c_{schema}_{table}_de.-f", "hello", "WORLD", "ab.-c_hello_WORLD_de.-f"),
        ("{schema}", "{table}", "t", "_table_"),
        ("fixed", "a", "b", "fixed"),
    ],
)
def test_an_expression_gives_the_topic_of_a_table(expression: str, schema: str, table: str, topic: str) -> None:
    assert parse(expression).of(schema, table) == topic


@pytest.mark.parametrize(
    "expression", ["{{schema}", "你好{schema}", "{schema}}", "{sch}", "%a{schema}", "{table}_{schema}"]
)
def test_what_is_no_expression_is_refused_by_its_key(expression: str) -> None:
    with pytest.raises(ConfigError, match=re.escape("sink.dispatchers[1].topic")):
        Dispatch([rule("a.*"), rule("b.*", topic=expression)], False, "rest")


@given(st.text(), st.text())
def test_every_topic_is_one_that_kafka_takes(schema: str, table: str) -> None:
    topic = parse("{schema}.{table}").of(schema, table)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic) and topic not in (".", "..")


def test_the_first_rule_decides_and_within_it_the_last_pattern() -> None:
    dispatch = Dispatch([rule("a.*", "!a.t", topic="one", partition="ts"), rule("a.*", topic="two")], False, "rest")
    assert (dispatch.topic("A", "x"), dispatch.topic("a", "t"), dispatch.topic("b", "t")) == ("one", "two", "rest")
    assert (dispatch.rule("a", "x").kind, dispatch.rule("b", "t").kind) == ("ts", "table")
    assert dispatch.topics([("a", "x"), ("a", "y"), ("b", "t")]) == ("one", "rest")


def test_the_ddl_of_a_database_goes_to_the_default_topic() -> None:
    dispatch = Dispatch([rule("*.*", topic="{schema}_{table}")], False, "rest")
    assert dispatch.ddl_topic(DdlEvent(1, 1, 0, DdlType.CREATE_SCHEMA, "", "a")) == "rest"
    assert dispatch.ddl_topic(DdlEvent(1, 1, 0, DdlType.CREATE_TABLE, "", "a", "t")) == "a_t"


def test_a_wrong_matcher_names_its_rule() -> None:
    with pytest.raises(ConfigError, match=re.escape("sink.dispatchers[0].matcher[1]")):
        Dispatch([rule("a.*", "b")], False, "rest")


def test_with_avro_two_tables_never_share_a_topic() -> None:
    alone = Dispatch([], False, "rest", "avro")
    alone.check_topics([("a", "t")])
    with pytest.raises(ConfigError, match=r"'rest' would hold a\.t and a\.u"):
        alone.check_topics([("a", "t"), ("a", "u")])
    apart = Dispatch([rule("*.*", topic="{schema}_{table}")], False, "rest", "avro")
    apart.check_topics([("a", "t"), ("a", "u")])
    with pytest.raises(ConfigError, match="'a_b_c' would hold"):
        apart.check_topics([("a_b", "c"), ("a", "b_c")])
    Dispatch([], False, "rest", "canal-json").check_topics([("a", "t"), ("a", "u")])
