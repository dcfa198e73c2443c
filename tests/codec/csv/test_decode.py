"""The decoder gives back what was encoded, and refuses everything else by file and row."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tailrace.change.batch import INSERT, UPDATE, ChangeBatch
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.csv import CsvDecoder, CsvEncoder, CsvOptions
from tailrace.errors import DecodeError
from tests.codec.csv.reference import OPTIONS, Row, as_batch, cell, changes, tables, text_cell


def decoded(data: bytes, table: TableSchema, options: CsvOptions, block: int = 1 << 20, commit_ts: int = 0) -> pa.Table:
    decoder = CsvDecoder(options, commit_ts, block)
    batches = list(decoder.decode(pa.py_buffer(data), table, "f.csv"))
    for batch in batches:
        batch.data.validate(full=True)
    return pa.Table.from_batches([batch.data for batch in batches], as_batch(table, []).data.schema)


def carried(rows: list[Row], options: CsvOptions, commit_ts: int) -> list[Row]:
    """What of the rows the form carries."""
    return [
        Row(
            row.op,
            row.commit_ts if options.include_commit_ts else commit_ts,
            None if row.op == UPDATE and not options.output_old_value else row.before,
            row.after,
        )
        for row in rows
    ]


def is_ambiguous(table: TableSchema, rows: list[Row], options: CsvOptions) -> bool:
    """Without quotes there is text that reads as NULL, or runs into the delimiter or terminator: the form's defects."""
    if options.quote:
        return False
    ends = options.delimiter + options.terminator
    names = [text_cell(name.encode(), options) for name in (table.name, table.schema)]
    images = [image for row in rows for image in (row.before, row.after) if image is not None]
    cells = [
        (image[each.name], cell(image[each.name], each.type, options)) for image in images for each in table.columns
    ]
    wide = len(ends) > 2
    texts = names + [text for value, text in cells if value is not None]
    return (
        any(value is not None and text == options.null.encode() for value, text in cells)
        or options.delimiter.startswith(options.terminator[0])
        or options.terminator.startswith(options.delimiter)
        or any(wide and set(text.decode("latin1")) & set(ends.encode().decode("latin1")) for text in texts)
        or any(set(options.terminator) - set("\r\n") & set(text.decode()) for text in texts)
    )


@settings(max_examples=40, deadline=None)
@given(st.data(), OPTIONS, st.sampled_from([1 << 20, 50]))
def test_what_was_encoded_comes_back(data: st.DataObject, options: CsvOptions, block: int) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    assume(not is_ambiguous(table, rows, options))
    encoder = CsvEncoder(options)
    text = encoder.header(table) + encoder.encode(as_batch(table, rows)).to_pybytes()
    want = pa.Table.from_batches([as_batch(table, carried(rows, options, 77)).data])
    got = decoded(text, table, options, block, 77)
    assert got.combine_chunks().to_pylist() == want.to_pylist()


def simple(kind: str = "varchar(20)", nullable: bool = True) -> TableSchema:
    columns = (Column(1, "id", parse_type("int"), False, True), Column(2, "v", parse_type(kind), nullable))
    return TableSchema("s", "t", 1, 1, columns, pk_is_handle=True)


GOOD = b'"I","t","s",1,"x"\r\n'


@pytest.mark.parametrize(
    ("text", "row", "reason"),
    [
        (b'"I","t","s",1\r\n', 1, "there are 4 cells, not 5"),
        (GOOD + b'"I","t","s",1,"x",2\r\n', 2, "there are 6 cells, not 5"),
        (GOOD + b"\r\n", 2, "there are 1 cells, not 5"),
        (GOOD + b'"X","t","s",1,"x"\r\n', 2, "the operation is 'X'"),
        (GOOD + b'"i","t","s",1,"x"\r\n', 2, "the operation is 'i'"),
        (GOOD + b'"I","t2","s",1,"x"\r\n', 2, "the row is of b't2'"),
        (GOOD + b'"I","t","other",1,"x"\r\n', 2, "the row is of b'other'"),
        (GOOD + b'"I","t","s",1,"x', 2, "does not end with"),
        (GOOD + b'"I","t","s",1,"x"', 2, "does not end with"),
        (GOOD + b'"I","t","s",1,"x"\n', 2, "does not end with"),
        (GOOD + b'"I","t","s",1,x\r\n', 2, "without quotes"),
        (GOOD + b'"I","t","s",1,\\N \r\n', 2, "without quotes"),
        (GOOD + b'"I","t","s",1,"x"y\r\n', 2, "a quote stands beside text"),
        (GOOD + b'"I","t","s",1,y"x"\r\n', 2, "a quote stands beside text"),
        (GOOD + b'"I","t","s",1,"x"y"z"\r\n', 2, "a quote stands beside text"),
        (GOOD + b'"I","t","s",one,"x"\r\n', 2, "column id holds 'one'"),
        (GOOD + b'"I","t","s",1.0,"x"\r\n', 2, "column id holds '1.0'"),
        (GOOD + b'"I","t","s",0x10,"x"\r\n', 2, "column id holds '0x10'"),
        (GOOD + b'"I","t","s",+1,"x"\r\n', 2, "column id holds"),
        (GOOD + b'"I","t","s",-0,"x"\r\n', 2, "column id holds '-0'"),
        (GOOD + b'"I","t","s",,"x"\r\n', 2, "column id holds ''"),
        (GOOD + b'"I","t","s",2147483648,"x"\r\n', 2, "column id holds 2147483648"),
        (GOOD + b'"I","t","s",\\N,"x"\r\n', 2, "column id is NULL"),
        (GOOD + b'"I","t","s",1,"\xff"\r\n', 2, "not UTF-8"),
    ],
)
def test_a_damaged_row_is_refused_by_file_and_row(text: bytes, row: int, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(text, simple(), CsvOptions())
    assert caught.value.position == f"f.csv row {row}"
    assert caught.value.table == "s.t"
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("kind", "cell_text"),
    [
        ("tinyint", b"128"),
        ("tinyint unsigned", b"-1"),
        ("mediumint", b"8388608"),
        ("mediumint unsigned", b"16777216"),
        ("bigint", b"9223372036854775808"),
        ("bigint unsigned", b"18446744073709551616"),
        ("bit(3)", b"8"),
        ("year", b"2156"),
        ("float", b"1e39"),
        ("double", b"1e309"),
        ("double", b"nan"),
        ("double", b"1,5"),
        ("decimal(5,2)", b'"1.5"'),
        ("decimal(5,2)", b'"1234.50"'),
        ("decimal(5,2)", b'"abc"'),
        ("decimal(5,2)", b"1.50"),
        ("date", b'"2024-13-01"'),
        ("date", b'"2024-1-1"'),
        ("datetime(3)", b'"2024-01-01 00:00:00"'),
        ("datetime", b'"2024-01-01 24:00:00"'),
        ("time", b'"839:00:00"'),
        ("enum('a','b')", b'"c"'),
        ("enum('a','b')", b'"A"'),
        ("set('a','b')", b'"a,c"'),
        ("set('a','b')", b'"b,a"'),
        ("set('a','b')", b'"a,a"'),
        ("blob", b'"Zm9v="'),
        ("blob", b'"Zm9"'),
        ("blob", b'"Zm9*"'),
        ("blob", b'"Zh=="'),
        ("blob", b'"=Zm9"'),
        ("blob", b'"Z==="'),
        ("vector", b'"1,2"'),
        ("text", b"null"),
    ],
)
def test_a_cell_that_is_no_value_of_its_type_is_refused(kind: str, cell_text: bytes) -> None:
    good = CsvEncoder(CsvOptions()).encode(as_batch(simple(kind), [Row(INSERT, 0, None, {"id": 1, "v": None})]))
    text = good.to_pybytes() + b'"I","t","s",2,' + cell_text + b"\r\n"
    with pytest.raises(DecodeError) as caught:
        decoded(text, simple(kind), CsvOptions())
    assert caught.value.position == "f.csv row 2"


@pytest.mark.parametrize("cell_text", [b'"6"', b'"6g"', b'"0A"', b'"zz"'])
def test_hex_that_no_encoder_writes_is_refused(cell_text: bytes) -> None:
    with pytest.raises(DecodeError, match="not hex"):
        decoded(b'"I","t","s",2,' + cell_text + b"\r\n", simple("blob"), CsvOptions(binary_encoding_method="hex"))


@pytest.mark.parametrize("cell_text", [b"a\\qb", b"\\", b"a\\\\\\"])
def test_an_escape_that_no_encoder_writes_is_refused(cell_text: bytes) -> None:
    with pytest.raises(DecodeError):
        decoded(b"I,t,s,2," + cell_text + b"\r\n", simple(), CsvOptions(quote=""))


def test_quoted_text_that_spells_null_is_text() -> None:
    got = decoded(b'"I","t","s",1,"\\N"\r\n"I","t","s",2,\\N\r\n', simple(), CsvOptions())
    assert [row["v"] for row in got["after"].to_pylist()] == ["\\N", None]


@pytest.mark.parametrize(
    "rows",
    [
        b'"D","t","s",5,true,1,"x"\r\n',
        b'"I","t","s",5,true,1,"x"\r\n',
        b'"D","t","s",5,true,1,"x"\r\n"I","t","s",6,true,1,"y"\r\n',
        b'"D","t","s",5,true,1,"x"\r\n"I","t","s",5,false,1,"y"\r\n',
        b'"U","t","s",5,true,1,"x"\r\n',
        b'"I","t","s",5,maybe,1,"x"\r\n',
    ],
)
def test_half_an_update_is_refused(rows: bytes) -> None:
    with pytest.raises(DecodeError):
        decoded(rows, simple(), CsvOptions(include_commit_ts=True, output_old_value=True))


def test_an_update_that_was_split_upstream_stays_two_changes() -> None:
    text = b'"D","t","s",5,false,1,"x"\r\n"I","t","s",5,false,2,"x"\r\n'
    got = decoded(text, simple(), CsvOptions(include_commit_ts=True, output_old_value=True))
    assert got["op"].to_pylist() == [2, 0]


def test_a_text_that_goes_back_in_time_becomes_batches_that_do_not() -> None:
    text = b"".join(b'"I","t","s",%d,%d,"x"\r\n' % (stamp, stamp) for stamp in (5, 6, 6, 5, 7, 1))
    decoder = CsvDecoder(CsvOptions(include_commit_ts=True))
    batches: list[ChangeBatch] = list(decoder.decode(pa.py_buffer(text), simple(), "f"))
    assert [batch.commit_ts.to_pylist() for batch in batches] == [[5, 6, 6], [5, 7], [1]]


def test_a_header_is_skipped_whether_or_not_it_was_asked_for_and_must_fit() -> None:
    options = CsvOptions(output_field_header=True)
    header = CsvEncoder(options).header(simple())
    for form in (options, CsvOptions()):
        assert (
            decoded(
                header.upper().replace(b"TICDC-META$OPERATION", b"ticdc-meta$operation") + GOOD, simple(), form
            ).num_rows
            == 1
        )
        with pytest.raises(DecodeError, match="header"):
            decoded(header.replace(b",v", b",w") + GOOD, simple(), form)
    with pytest.raises(DecodeError, match="header"):
        decoded(GOOD, simple(), options)


def test_an_empty_file_has_no_changes() -> None:
    assert decoded(b"", simple(), CsvOptions()).num_rows == 0


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(0, 400), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_is_another_value_that_encodes_to_it(
    data: st.DataObject, at: int, byte: int
) -> None:
    """No damage becomes a value whose own text is not what stands in the file."""
    options = CsvOptions(include_commit_ts=True, output_old_value=True)
    table = data.draw(tables())
    text = bytearray(CsvEncoder(options).encode(as_batch(table, data.draw(changes(table)))).to_pybytes())
    assume(text)
    text[at % len(text)] = byte
    try:
        batches = list(CsvDecoder(options).decode(pa.py_buffer(bytes(text)), table, "f"))
    except DecodeError:
        return
    again = b"".join(CsvEncoder(options).encode(batch).to_pybytes() for batch in batches)
    assume(not any(column.type.name in ("float", "double") for column in table.columns))
    assume(table.name.encode() in text)
    assert again.replace(b'"U"', b'"I"') == bytes(text).replace(b'"U"', b'"I"')


def test_columns_that_are_not_wanted_are_null_and_not_looked_at() -> None:
    text = b'"I","t","s",1,no number\r\n"U","t","s",2,"x"\r\n'
    decoder = CsvDecoder(CsvOptions(), 5, wanted=frozenset({"id"}))
    (batch,) = decoder.decode(pa.py_buffer(text), simple(), "x")
    assert batch.after.to_pylist() == [{"id": 1, "v": None}, {"id": 2, "v": None}]
    with pytest.raises(DecodeError):
        list(CsvDecoder(CsvOptions(), 5, wanted=frozenset({"v"})).decode(pa.py_buffer(text), simple(), "x"))
