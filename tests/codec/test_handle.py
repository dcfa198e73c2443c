"""The text of handles is TiDB's, for keys that a row tells, and an error for all others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType
from tailrace.codec.handle import handle_text
from tailrace.errors import EncodeError


def clustered(kind: ColumnType, prefix: int = -1) -> TableSchema:
    index = Index(1, "PRIMARY", ("k",), unique=True, primary=True, prefixes=(prefix,))
    return TableSchema("s", "t", 1, 1, (Column(1, "k", kind, False, True),), (index,), common_handle=True)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("varchar(9)", "a b ", b"{a b}"),
        ("varchar(9) collate utf8mb4_0900_bin", "a ", b"{a }"),
        ("varchar(9) collate utf8mb4_general_ci", "aBc", b"{\0A\0B\0C}"),
        ("varbinary(9)", b"\0\xff ", b"{\0\xff }"),
        ("decimal(6,2)", "12.50", b"{12.50}"),
        ("bigint unsigned", 1 << 63, b"{9223372036854775808}"),
        ("date", "2024-01-01", b"{1851614964570128384}"),
        ("time(3)", "01:02:03.004", b"{01:02:03.004000}"),
        ("time", "-01:02:03", b"{-01:02:03.000000}"),
        ("enum('a','b')", 2, b"{2}"),
        ("double", 1e21, b"{1000000000000000000000}"),
    ],
)
def test_the_text_of_a_clustered_key(kind: str, value: Any, text: bytes) -> None:
    column_type = parse_type(kind)
    image = {"k": pa.array([value], column_type.arrow)}
    assert handle_text(clustered(column_type), image).to_pylist() == [text]


def test_a_datetime_is_packed_with_its_microseconds() -> None:
    def packed(year: int, month: int, day: int, hour: int, minute: int, second: int, micro: int) -> int:
        days = (year * 13 + month) << 5 | day
        return (days << 17 | hour << 12 | minute << 6 | second) << 24 | micro

    kind = parse_type("datetime(2)")
    image = {"k": pa.array(["2024-05-06 07:08:09.12", "0000-00-00 00:00:00.00"])}
    want = [packed(2024, 5, 6, 7, 8, 9, 120000), 0]
    assert handle_text(clustered(kind), image).to_pylist() == [b"{%d}" % each for each in want]


def test_an_integer_key_is_its_signed_number() -> None:
    table = TableSchema(
        "s", "t", 1, 1, (Column(1, "k", parse_type("bigint unsigned"), False, True),), pk_is_handle=True
    )
    image = {"k": pa.array([5, (1 << 64) - 1], pa.uint64())}
    assert handle_text(table, image).to_pylist() == [b"5", b"-1"]


def test_a_prefix_of_a_key_column_is_all_that_the_handle_holds() -> None:
    kind = parse_type("varchar(20)")
    assert handle_text(clustered(kind, 2), {"k": pa.array(["éabc"])}).to_pylist() == ["{éa}".encode()]


def test_several_columns_are_parted_by_commas() -> None:
    columns = (Column(1, "a", parse_type("int"), False, True), Column(2, "b", parse_type("varchar(5)"), False, True))
    index = Index(1, "PRIMARY", ("b", "a"), unique=True, primary=True)
    table = TableSchema("s", "t", 1, 1, columns, (index,), common_handle=True)
    assert handle_text(table, {"a": pa.array([1]), "b": pa.array(["x"])}).to_pylist() == [b"{x, 1}"]


def test_a_hidden_row_id_is_the_handle_of_a_table_without_a_clustered_key() -> None:
    columns = (Column(1, "v", parse_type("int")), Column(-1, "_tidb_rowid", parse_type("bigint"), hidden=True))
    table = TableSchema("s", "t", 1, 1, columns)
    image = {"v": pa.array([7]), "_tidb_rowid": pa.array([3], pa.int64())}
    assert handle_text(table, image).to_pylist() == [b"3"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamp", "2024-01-01 00:00:00"),
        ("varchar(9) collate utf8mb4_unicode_ci", "a"),
        ("varchar(9) collate utf8mb4_general_ci", "é"),
    ],
)
def test_a_key_that_the_row_does_not_tell_is_refused(kind: str, value: str) -> None:
    with pytest.raises(EncodeError, match="column k"):
        handle_text(clustered(parse_type(kind)), {"k": pa.array([value])})
