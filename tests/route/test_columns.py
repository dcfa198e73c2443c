"""Column selectors: what leaves is what the patterns say, still has a key, and keeps every value."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.config import ColumnSelector
from tailrace.errors import ConfigError
from tailrace.route.columns import ColumnSelectors

NAMES = ("id", "Code", "part", "note")
TABLE = TableSchema(
    "s",
    "t",
    1,
    1,
    tuple(Column(at, name, parse_type("int"), pk=name == "id") for at, name in enumerate(NAMES, 1)),
    (Index(1, "uk", ("Code", "part"), unique=True),),
    pk_is_handle=True,
)


def left(*patterns: str, matcher: str = "*.*") -> list[str]:
    selection = ColumnSelectors([ColumnSelector((matcher,), patterns)], False).of(TABLE)
    return [column.name for column in selection.table.columns]


@pytest.mark.parametrize(
    ("patterns", "want"),
    [
        (("*",), ["id", "Code", "part", "note"]),
        (("*", "!note"), ["id", "Code", "part"]),
        (("ID", "c*"), ["id", "Code"]),
        (("*", "!*", "id"), ["id"]),
        (("code", "PART"), ["Code", "part"]),
        (("/^(id|note)$/",), ["id", "note"]),
    ],
)
def test_the_last_pattern_that_matches_a_column_decides(patterns: tuple[str, ...], want: list[str]) -> None:
    assert left(*patterns) == want


def test_a_table_of_no_selector_keeps_all() -> None:
    assert left("id", matcher="other.*") == list(NAMES)


@pytest.mark.parametrize("patterns", [("note",), ("code",), ("*", "!id", "!part"), ()])
def test_a_selector_that_leaves_no_key_is_refused(patterns: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"sink.column-selectors\[0\].columns leaves .* the primary key \(id\)"):
        left(*patterns)


def test_a_pattern_that_is_none_is_named() -> None:
    with pytest.raises(ConfigError, match=r"sink.column-selectors\[0\].columns\[1\]"):
        left("id", "a%b")


def test_rows_keep_their_values_and_absent_images_stay_absent() -> None:
    rows = [{name: at * 10 + column for column, name in enumerate(NAMES)} for at in range(4)]
    after = [rows[0], None, rows[2], rows[3]]
    before = [None, rows[1], rows[1], None]
    columns = [
        pa.array([INSERT, DELETE, UPDATE, INSERT], pa.uint8()),
        pa.array(range(4), pa.int64()),
        pa.array(range(4), pa.int64()),
        pa.array(after, TABLE.arrow_struct),
        pa.array(before, TABLE.arrow_struct),
    ]
    whole = ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE))).slice(1)
    selection = ColumnSelectors([ColumnSelector(("*.*",), ("id", "note"))], False).of(TABLE)
    narrow = selection.narrowed(whole)
    assert selection.dropped == ("Code", "part")
    for image, full in ((narrow.after, after[1:]), (narrow.before, before[1:])):
        assert image.to_pylist() == [row and {"id": row["id"], "note": row["note"]} for row in full]


def test_a_key_that_lost_a_column_is_none_any_more() -> None:
    selection = ColumnSelectors([ColumnSelector(("*.*",), ("code", "part"))], False).of(TABLE)
    assert selection.table.handle_key == () and not selection.table.pk_is_handle
