"""Value expressions: a condition of SQL over one row, compiled to kernels over columns.

Exactly as TiDB evaluates it, or refused by name when the table is compiled: columns, literals, `and`, `or`, `not`,
`= <> < <= > >= <=>`, `between`, `in`, `like`, `regexp`, `is [not] null | true | false`, parentheses. Three-valued: a
comparison with NULL is NULL, and only what is 1 leaves a row out. Everything else (functions, arithmetic, subqueries,
`xor`, virtual columns) is a ConfigError, never a guess. What two operands may be compared is `operands`' to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import TableSchema
from tailrace.errors import ConfigError, NotInstalled
from tailrace.route.events.operands import Operand, compared, literal, of_column, truth

if TYPE_CHECKING:
    from sqlglot import exp

Condition = Callable[[pa.StructArray], pa.BooleanArray]

_COMPARED = {"EQ": "equal", "NEQ": "not_equal", "LT": "less", "LTE": "less_equal"}
_COMPARED |= {"GT": "greater", "GTE": "greater_equal"}
_FALSE_ON_NULL = pa.scalar(False)


def parse_expression(text: str, where: str) -> exp.Expr:
    """The expression's tree; raises ConfigError naming `where`."""
    try:
        import sqlglot
        from sqlglot.errors import SqlglotError
    except ImportError as missing:
        raise NotInstalled(f"{where} needs sqlglot: run pip install 'tailrace[sql]'") from missing
    try:
        found = sqlglot.parse(text, read="mysql")
    except SqlglotError as wrong:
        raise ConfigError(f"{where} is {text!r}, which is no SQL expression") from wrong
    tree = found[0] if len(found) == 1 else None
    if tree is None:
        raise ConfigError(f"{where} is {text!r}, which is not one SQL expression")
    return tree


def compile_expression(text: str, table: TableSchema, where: str) -> Condition:
    """Whether the expression is 1, never NULL, for each row of an image; the image's own NULLs mean nothing."""
    compiler = _Compiler(text, table, where)
    tree = parse_expression(text, where)
    if type(tree).__name__ == "Column":
        operand = compiler.operand(tree)
        if operand.kind != "number" or operand.fractional:
            raise compiler.refused(f"{operand.name}, which alone is neither 0 nor 1; compare it")
        # A lone integer counts as 1 where it is 1, and not where it is merely not 0.
        condition = compared("equal", operand, literal("1", is_text=False))
    else:
        condition = compiler.condition(tree)
    return lambda image: pc.fill_null(condition(image), _FALSE_ON_NULL)


class _Compiler:
    """Walks one tree; knows the words for its errors."""

    def __init__(self, text: str, table: TableSchema, where: str) -> None:
        self._text, self._table, self._where = text, table, where

    def refused(self, what: str) -> ConfigError:
        return ConfigError(f"{self._where} is {self._text!r}: it has {what}", table=self._table.full_name)

    def condition(self, node: exp.Expr) -> Condition:
        name = type(node).__name__
        if name == "Paren":
            return self.condition(node.this)
        if name in ("And", "Or"):
            kernel = pc.and_kleene if name == "And" else pc.or_kleene
            left, right = self.condition(node.this), self.condition(node.expression)
            return lambda image: kernel(left(image), right(image))
        if name == "Not":
            inner = self.condition(node.this)
            return lambda image: pc.invert(inner(image))
        if name in _COMPARED:
            return self._compare(_COMPARED[name], node.this, node.expression)
        tests = {
            "NullSafeEQ": self._null_safe,
            "Is": self._is,
            "Between": self._between,
            "In": self._in,
            "Like": self._like,
            "RegexpLike": self._regexp,
        }
        return tests.get(name, self._truth)(node)

    def operand(self, node: exp.Expr) -> Operand:
        name = type(node).__name__
        if name == "Paren":
            return self.operand(node.this)
        if name == "Column":
            return self._column(node)
        if name == "Neg" and type(node.this).__name__ == "Literal" and not node.this.is_string:
            return self._literal(f"-{node.this.this}", False)
        if name == "Literal":
            return self._literal(node.this, node.is_string)
        if name == "Boolean":
            return literal("1" if node.this else "0", is_text=False)
        if name == "Null":
            return Operand("null", "NULL")
        raise self.refused(f"{node.sql('mysql')!r}, which is not supported; compare columns and literals")

    def _literal(self, text: str, is_text: bool) -> Operand:
        try:
            return literal(text, is_text)
        except ValueError:
            raise self.refused(f"the literal {text}, which is not supported; write it without an exponent") from None

    def _column(self, node: exp.Expr) -> Operand:
        if node.text("table").lower() not in ("", self._table.name.lower()) or node.args.get("db"):
            raise self.refused(f"{node.sql('mysql')}, a column of another table")
        wanted = node.name.lower()
        column = next((each for each in self._table.columns if each.name.lower() == wanted), None)
        if column is None or column.hidden:
            known = ", ".join(each.name for each in self._table.row_columns if not each.hidden)
            raise self.refused(f"no column {node.name} to look at; the table has {known}")
        if column.generated == "virtual":
            raise self.refused(f"{column.name}, which is virtual: no change carries it")
        return of_column(column)

    def _compare(self, kernel: str, left: exp.Expr, right: exp.Expr) -> Condition:
        return self._compared(kernel, self.operand(left), self.operand(right))

    def _compared(self, kernel: str, left: Operand, right: Operand) -> Condition:
        try:
            return compared(kernel, left, right)
        except ValueError as why:
            raise self.refused(f"{left.name} beside {right.name}: {why}") from None

    def _null_safe(self, node: exp.Expr) -> Condition:
        left, right = self.operand(node.this), self.operand(node.expression)
        equal, absent = self._compared("equal", left, right), (self._absent(left), self._absent(right))
        return lambda image: pc.or_(
            pc.fill_null(equal(image), _FALSE_ON_NULL), pc.and_(absent[0](image), absent[1](image))
        )

    def _absent(self, operand: Operand) -> Condition:
        if operand.column is None:
            return lambda image: pa.array([operand.kind == "null"] * len(image), pa.bool_())
        name = operand.column.name
        return lambda image: pc.struct_field(image, name).is_null()

    def _is(self, node: exp.Expr) -> Condition:
        asked = type(node.expression).__name__
        if asked == "Null":
            return self._absent(self.operand(node.this))
        if asked != "Boolean":
            raise self.refused(f"{node.sql('mysql')!r}; after IS may stand NULL, TRUE or FALSE")
        inner, wanted = self.condition(node.this), bool(node.expression.this)
        return lambda image: pc.fill_null(inner(image) if wanted else pc.invert(inner(image)), _FALSE_ON_NULL)

    def _between(self, node: exp.Expr) -> Condition:
        low = self._compare("greater_equal", node.this, node.args["low"])
        high = self._compare("less_equal", node.this, node.args["high"])
        return lambda image: pc.and_kleene(low(image), high(image))

    def _in(self, node: exp.Expr) -> Condition:
        if not node.expressions or node.args.get("query"):
            raise self.refused(f"{node.sql('mysql')!r}; IN takes a list of literals")
        each = [self._compare("equal", node.this, other) for other in node.expressions]
        return lambda image: reduce(pc.or_kleene, [one(image) for one in each])

    def _like(self, node: exp.Expr) -> Condition:
        return self._matching(node, _like_regexp(self._pattern(node)))

    def _regexp(self, node: exp.Expr) -> Condition:
        regexp = self._pattern(node)
        try:
            pc.match_substring_regex(pa.array([""]), regexp)
        except pa.ArrowInvalid:
            raise self.refused(f"the regular expression {regexp!r}, which is invalid") from None
        return self._matching(node, regexp)

    def _pattern(self, node: exp.Expr) -> str:
        if type(node.expression).__name__ != "Literal" or not node.expression.is_string:
            raise self.refused(f"{node.sql('mysql')!r}; a pattern is a text in quotes")
        return str(node.expression.this)

    def _matching(self, node: exp.Expr, regexp: str) -> Condition:
        operand, negated = self.operand(node.this), bool(node.args.get("negate"))
        if operand.kind != "text" or operand.column is None:
            raise self.refused(f"{operand.name} beside a pattern, which only a column of text may be")
        matched: Condition = lambda image: pc.match_substring_regex(operand.values(image), regexp)  # noqa: E731
        return (lambda image: pc.invert(matched(image))) if negated else matched

    def _truth(self, node: exp.Expr) -> Condition:
        operand = self.operand(node)
        try:
            return truth(operand)
        except ValueError as why:
            raise self.refused(f"{operand.name} as a condition: {why}") from None


def _like_regexp(pattern: str) -> str:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return "(?s)^" + "".join(wild.get(part) or f"\\x{{{ord(part[-1]):x}}}" for part in parts) + "$"
