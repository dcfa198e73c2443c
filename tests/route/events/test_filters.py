"""Event filters: words, statements and expressions leave out what they say, and what is wrong is named."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.config.values import EventFilter
from tailrace.errors import ConfigError
from tailrace.route.events import EventFilters, is_forwarded

TABLE = TableSchema("s", "t", 1, 1, (Column(1, "id", parse_type("int"), pk=True), Column(2, "a", parse_type("int"))))
ROWS = [(INSERT, None, 1), (UPDATE, 1, 5), (UPDATE, 5, 1), (DELETE, 5, None), (INSERT, None, 5)]


def batch() -> ChangeBatch:
    image = [[None if row[at] is None else {"id": 1, "a": row[at]} for row in ROWS] for at in (2, 1)]
    columns = [
        pa.array([op for op, *_ in ROWS], pa.uint8()),
        pa.array(range(10, 15), pa.int64()),
        pa.array(range(5), pa.int64()),
        *(pa.array(each, TABLE.arrow_struct) for each in image),
    ]
    return ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE)))


def kept(*filters: EventFilter, start_ts: tuple[int, ...] = ()) -> list[int]:
    found = EventFilters(filters, start_ts).of(TABLE).kept(batch())
    return [ts - 10 for ts in found.commit_ts.to_pylist()]


ALL = ("*.*",)


@pytest.mark.parametrize(
    ("filters", "want"),
    [
        ([], [0, 1, 2, 3, 4]),
        ([EventFilter(ALL, ("insert",))], [1, 2, 3]),
        ([EventFilter(("S.T",), ("all dml",))], [0, 1, 2, 3, 4]),
        ([EventFilter(ALL, insert="a = 5")], [0, 1, 2, 3]),
        ([EventFilter(ALL, update_old="a = 5")], [0, 1, 3, 4]),
        ([EventFilter(ALL, update_new="a = 5")], [0, 2, 3, 4]),
        ([EventFilter(ALL, update_old="a = 5", update_new="a = 5")], [0, 3, 4]),
        ([EventFilter(ALL, ("delete",)), EventFilter(("s.*",), insert="id = 1 and a < 5")], [1, 2, 4]),
        ([EventFilter(ALL, delete="a is null")], [0, 1, 2, 3, 4]),
    ],
)
def test_what_any_filter_leaves_out_is_gone(filters: list[EventFilter], want: list[int]) -> None:
    assert kept(*filters) == want


def test_a_transaction_is_left_out_by_its_start_ts() -> None:
    assert kept(start_ts=(1, 3)) == [0, 2, 4]


def test_a_batch_that_loses_nothing_is_the_same_object() -> None:
    whole = batch()
    assert EventFilters([EventFilter(ALL, insert="a = 7")]).of(TABLE).kept(whole) is whole


def statement(kind: int, query: str, table: str = "t", before: TableSchema | None = None) -> DdlEvent:
    return DdlEvent(9, 8, 0, kind, query, "s", table, None, before)


@pytest.mark.parametrize(
    ("said", "event", "want"),
    [
        (EventFilter(ALL, ("drop table",)), statement(DdlType.DROP_TABLE, "x"), True),
        (EventFilter(ALL, ("drop table",)), statement(DdlType.DROP_COLUMN, "x"), False),
        (EventFilter(ALL, ("alter table",)), statement(DdlType.RENAME_TABLE, "x"), True),
        (EventFilter(ALL, ("alter table",)), statement(DdlType.CREATE_TABLE, "x"), False),
        (EventFilter(ALL, ("all ddl",)), statement(DdlType.CREATE_SCHEMA, "x", ""), True),
        (EventFilter(("s.t",), (), ("^DROP",)), statement(DdlType.DROP_SCHEMA, "drop database s", ""), True),
        (EventFilter(("s.t",), (), ("^DROP",)), statement(DdlType.ADD_COLUMN, "alter table drop"), False),
        (EventFilter(("s.t",), ("rename table",)), statement(DdlType.RENAME_TABLE, "x", "new", TABLE), True),
    ],
)
def test_a_statement_is_left_out_by_its_kind_or_its_text(said: EventFilter, event: DdlEvent, want: bool) -> None:
    assert EventFilters([said]).ignored(event) is want


def test_sequences_and_locks_are_never_forwarded() -> None:
    assert is_forwarded(DdlType.ADD_INDEX) and not any(map(is_forwarded, (0, 27, 30, 34)))


@pytest.mark.parametrize(
    ("said", "key"),
    [
        (EventFilter(ALL, ("INSERT",)), "ignore-event has 'INSERT'; it may be .*did you mean insert"),
        (EventFilter(ALL, (), ("(",)), r"ignore-sql\[0\]"),
        (EventFilter(ALL, insert="a >"), "ignore-insert-value-expr"),
        (EventFilter(("nodot",)), "matcher"),
    ],
)
def test_what_is_wrong_is_named_when_the_filters_are_made(said: EventFilter, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"filter.event-filters\[1\]\.{key}"):
        EventFilters([EventFilter(ALL), said])


def test_in_the_dialect_of_ticdc_a_broken_regular_expression_stops_its_filter() -> None:
    filters = EventFilters([EventFilter(ALL, ("insert",), ("(",))], dialect="ticdc")
    assert filters.of(TABLE).passes_all
