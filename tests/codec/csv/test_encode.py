"""The encoder writes what the obvious row-by-row code writes, whichever way it takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import INSERT
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.codec.csv.cells import Cell
from tailrace.codec.csv.write import joined, native, writes_natively
from tailrace.errors import EncodeError
from tests.codec.csv.reference import OPTIONS, TEXT, Row, as_batch, changes, tables, written


def one_column(kind: str) -> TableSchema:
    columns = (Column(1, "id", parse_type("int"), False, True), Column(2, "v", parse_type(kind)))
    return TableSchema("s", "t", 1, 1, columns, pk_is_handle=True)


@settings(max_examples=40, deadline=None)
@given(st.data(), OPTIONS)
def test_any_rows_in_any_form_are_written_as_row_by_row_code_would(data: st.DataObject, options: CsvOptions) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    assert CsvEncoder(options).encode(as_batch(table, rows)).to_pybytes() == written(table, rows, options)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | TEXT, min_size=1), st.sampled_from(["\\N", "", "NULL"]), st.sampled_from(["\n", "\r\n"]))
def test_both_ways_of_writing_give_the_same_bytes(texts: list[str | None], null: str, terminator: str) -> None:
    options = CsvOptions(null=null, terminator=terminator)
    numbers = pa.array(np.arange(len(texts)) * 100.5)
    cells = [Cell(pa.array(texts, pa.string()), quoted=True), Cell(numbers, quoted=False)]
    assert writes_natively(cells, options)
    assert native(cells, options).equals(joined(cells, options))


def test_a_large_batch_is_written_in_parts_that_join(monkeypatch: pytest.MonkeyPatch) -> None:
    table = one_column("varchar(9)")
    batch = as_batch(table, [Row(INSERT, 5, None, {"id": at, "v": f"x{at}"}) for at in range(100)])
    encoder = CsvEncoder(CsvOptions())
    whole = encoder.encode(batch)
    monkeypatch.setattr("tailrace.codec.csv.encode._SLICE_ROWS", 7)
    assert encoder.encode(batch).equals(whole)


def test_a_slice_of_a_batch_is_written_as_if_it_stood_alone() -> None:
    table = one_column("varbinary(9)")
    rows = [Row(INSERT, 5, None, {"id": at, "v": bytes([at] * (at % 4)) if at % 5 else None}) for at in range(40)]
    part = as_batch(table, rows).slice(13, 20)
    assert CsvEncoder(CsvOptions()).encode(part).to_pybytes() == written(table, rows[13:33], CsvOptions())


def test_no_rows_are_no_bytes() -> None:
    assert CsvEncoder(CsvOptions()).encode(as_batch(one_column("int"), [])).size == 0


def test_the_header_names_the_cells_without_quotes_and_only_where_asked_for() -> None:
    table = one_column("int")
    options = CsvOptions(include_commit_ts=True, output_old_value=True, output_field_header=True, delimiter="||")
    names = "ticdc-meta$operation||ticdc-meta$table||ticdc-meta$schema||ticdc-meta$commit-ts||ticdc-meta$is-update"
    assert CsvEncoder(options).header(table) == f"{names}||id||v\r\n".encode()
    assert CsvEncoder(CsvOptions()).header(table) == b""


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("enum('a','b')", 0),
        ("enum('a','b')", 3),
        ("set('a','b')", 4),
        ("float", float("nan")),
        ("double", float("-inf")),
    ],
)
def test_a_value_that_csv_has_no_text_for_is_refused_by_its_column(kind: str, value: float) -> None:
    batch = as_batch(one_column(kind), [Row(INSERT, 5, None, {"id": 1, "v": value})])
    with pytest.raises(EncodeError, match="column v holds"):
        CsvEncoder(CsvOptions()).encode(batch)


def test_a_table_without_a_clustered_key_has_no_handle_to_write() -> None:
    table = TableSchema("s", "t", 1, 1, (Column(1, "v", parse_type("int")),))
    batch = as_batch(table, [Row(INSERT, 5, None, {"v": 1})])
    with pytest.raises(EncodeError, match="output-handle-key"):
        CsvEncoder(CsvOptions(output_handle_key=True)).encode(batch)
