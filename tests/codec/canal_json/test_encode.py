"""The encoder writes what the obvious row-by-row code writes."""

from __future__ import annotations

import time
import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tables import batch as bench_batch
from bench.tables import ints100_table, narrow_table, wide_table
from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.codec.canal_json import CanalJsonEncoder, CanalJsonOptions
from tailrace.errors import EncodeError
from tests.codec.canal_json.reference import NOW, OPTIONS, written
from tests.codec.csv.reference import Row, as_batch, changes, tables


def now() -> int:
    return NOW


def one_column(kind: str) -> TableSchema:
    columns = (Column(1, "id", parse_type("int"), False, True), Column(2, "v", parse_type(kind)))
    return TableSchema("s", "t", 1, 1, columns, pk_is_handle=True)


@settings(max_examples=60, deadline=None)
@given(st.data(), OPTIONS)
def test_any_rows_in_any_form_are_written_as_row_by_row_code_would(
    data: st.DataObject, options: CanalJsonOptions
) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    encoder = CanalJsonEncoder(options, now)
    assert encoder.encode(as_batch(table, rows)).to_pybytes() == written(table, rows, options)
    assert encoder.encode(as_batch(table, rows[1:])).to_pybytes() == written(table, rows[1:], options)


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "mediumint", "int", "bigint"])
def test_unsigned_values_beyond_the_signed_range_have_another_code(kind: str) -> None:
    table = one_column(f"{kind} unsigned")
    top = (1 << {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[kind]) - 1
    values = [0, top // 2, top // 2 + 1, top, None]
    images = [{"id": at, "v": value} for at, value in enumerate(values)]
    rows = [Row(INSERT, 5, None, image) for image in images]
    rows += [Row(UPDATE, 6, images[at], images[at - 1]) for at in range(len(values))]
    rows += [Row(DELETE, 7, image, None) for image in images]
    for options in (CanalJsonOptions(), CanalJsonOptions(delete_only_output_handle_key_columns=True)):
        assert CanalJsonEncoder(options, now).encode(as_batch(table, rows)).to_pybytes() == written(
            table, rows, options
        )


def test_a_table_without_a_key_or_with_a_unique_one() -> None:
    columns = (Column(1, "a", parse_type("int"), False), Column(2, "b", parse_type("varchar(9)")))
    bare = TableSchema("s", "t", 1, 1, columns)
    unique = TableSchema("s", "u", 2, 1, columns, (Index(1, "u", ("a",), unique=True),))
    rows = [Row(DELETE, 5, {"a": 1, "b": "x"}, None), Row(INSERT, 5, None, {"a": 1, "b": None})]
    options = CanalJsonOptions(delete_only_output_handle_key_columns=True)
    for table in (bare, unique):
        assert CanalJsonEncoder(options, now).encode(as_batch(table, rows)).to_pybytes() == written(
            table, rows, options
        )


def test_a_large_batch_is_written_in_parts_that_join(monkeypatch: pytest.MonkeyPatch) -> None:
    table = one_column("varchar(9)")
    rows = [Row(INSERT, 5, None, {"id": at, "v": f"x{at}" * (at % 7)}) for at in range(100)]
    encoder = CanalJsonEncoder(CanalJsonOptions(), now)
    whole = encoder.encode(as_batch(table, rows))
    for size in (300, 1000, 5000):
        monkeypatch.setattr("tailrace.codec.pieces._SLICE_BYTES", size)
        assert encoder.encode(as_batch(table, rows)).equals(whole)
    assert whole.to_pybytes() == written(table, rows, CanalJsonOptions())


def test_a_slice_of_a_batch_is_written_as_if_it_stood_alone() -> None:
    table = one_column("varbinary(9)")
    rows = [Row(INSERT, 5, None, {"id": at, "v": bytes([at] * (at % 4)) if at % 5 else None}) for at in range(40)]
    part = as_batch(table, rows).slice(13, 20)
    options = CanalJsonOptions()
    assert CanalJsonEncoder(options, now).encode(part).to_pybytes() == written(table, rows[13:33], options)


def test_no_rows_are_no_bytes() -> None:
    assert CanalJsonEncoder(CanalJsonOptions()).encode(as_batch(one_column("int"), [])).to_pybytes() == b""


def test_a_new_version_of_a_table_is_written_in_its_own_shape() -> None:
    encoder = CanalJsonEncoder(CanalJsonOptions(), now)
    for kind in ("int", "bigint unsigned", "int"):
        table = one_column(kind)  # the same names, id and version: only the columns differ
        rows = [Row(INSERT, 5, None, {"id": 1, "v": 2})]
        assert encoder.encode(as_batch(table, rows)).to_pybytes() == written(table, rows, CanalJsonOptions())


def test_a_number_that_is_not_finite_is_refused() -> None:
    rows = [Row(INSERT, 5, None, {"id": 1, "v": float("nan")})]
    with pytest.raises(EncodeError, match="not finite"):
        CanalJsonEncoder(CanalJsonOptions()).encode(as_batch(one_column("double"), rows))


def test_hidden_columns_are_not_shown() -> None:
    table = one_column("int")
    hidden = Column(-1, "_tidb_rowid", parse_type("bigint"), hidden=True)
    seen = TableSchema("s", "t", 1, 1, (*table.columns, hidden), pk_is_handle=True)
    rows = [Row(INSERT, 5, None, {"id": 1, "v": 2, "_tidb_rowid": 9})]
    got = CanalJsonEncoder(CanalJsonOptions(), now).encode(as_batch(seen, rows)).to_pybytes()
    assert got == written(table, rows, CanalJsonOptions())


@pytest.mark.parametrize("updates", [0.0, 1.0])
@pytest.mark.parametrize("table", [wide_table(), ints100_table()], ids=lambda table: table.name)
def test_one_row_takes_less_than_a_millisecond(table: TableSchema, updates: float) -> None:
    batch, encoder = (
        bench_batch(table, 1, updates=updates),
        CanalJsonEncoder(CanalJsonOptions(enable_tidb_extension=True)),
    )
    encoder.encode(batch)
    best = min(_seconds(lambda: encoder.encode(batch)) for _ in range(50))
    assert best < 0.001


def _seconds(work: object) -> float:
    begin = time.process_time()
    work()  # type: ignore[operator]
    return time.process_time() - begin


def long_texts(rows: int, repeats: int) -> ChangeBatch:
    images = [{"id": at, "v": '"plain" text ' * repeats} for at in range(rows)]
    return as_batch(one_column("longtext"), [Row(INSERT, 5, None, image) for image in images])


@pytest.mark.parametrize(
    "batch",
    [
        long_texts(128, 5000),
        long_texts(1, 1_000_000),
        *(bench_batch(make(), 8192, updates=0.6) for make in (narrow_table, wide_table, ints100_table)),
    ],
    ids=["long rows", "one long row", "narrow", "wide", "ints100"],
)
def test_memory_stays_near_the_size_of_the_output(batch: ChangeBatch) -> None:
    encoder = CanalJsonEncoder(CanalJsonOptions(), now)
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    tracemalloc.start()
    pa.set_memory_pool(pool)
    try:
        size = encoder.encode(batch).size  # nothing may outlive the pool
        peak = (pool.max_memory() or 0) + tracemalloc.get_traced_memory()[1]
    finally:
        pa.set_memory_pool(before)
        tracemalloc.stop()
    assert size < peak < 3 * size
