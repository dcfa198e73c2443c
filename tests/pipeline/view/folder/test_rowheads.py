"""Row heads: rows are found from anywhere in a text, whatever its values hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.pipeline.view.folder.rowheads import RowHeads
from tests.pipeline.view.folders import ID, NAME, Change, changes, orders

FORMS = {
    "usual": CsvOptions(include_commit_ts=True),
    "old value": CsvOptions(include_commit_ts=True, output_old_value=True),
    "no ts": CsvOptions(),
    "header": CsvOptions(include_commit_ts=True, output_field_header=True),
    "odd": CsvOptions(delimiter="||", quote="'", terminator="\n", include_commit_ts=True, output_old_value=True),
    "escape": CsvOptions(quote="", include_commit_ts=True),
    "plain end": CsvOptions(terminator=";", include_commit_ts=True),
}
# What a value would have to hold to be taken for a row, in every form.
TRAPS = [
    '"I","orders","shop",7,',
    '\r\n"I","orders","shop",7,',
    "\n'D'||'orders'||'shop'||7||false||",
    "\r\nI,orders,shop,7,",
]
TRAPS += [';"U","orders","shop",7,', '"', "'", '\r\n"', '""', "\r\n", ";", "\\", "|"]
VALUES = st.lists(st.sampled_from([*TRAPS, "a", "é", " "]), max_size=5).map("".join)
OPS = st.sampled_from(["I", "U", "D", "UU"])


def encoded(form: CsvOptions, rows: list[Change]) -> tuple[bytes, list[tuple[int, int]]]:
    """A file, and the places and commit ts of the rows in it, both halves of an update as one."""
    table, encoder, places = orders(columns=(NAME, ID)), CsvEncoder(form), []
    text = encoder.header(table)
    for row in rows:
        places.append((len(text), row[1]))
        text += encoder.encode(changes(table, [row])).to_pybytes()
    return text, places


def _change(form: CsvOptions, op: str, value: str, at: int) -> Change:
    """An update carries its old values where the form does."""
    if op == "UU" and form.output_old_value:
        return "U", 10 + at, (value, at), (value + "x", at)
    return "I" if op == "U" and form.output_old_value else op[0], 10 + at, (value, at)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(OPS, VALUES), min_size=1, max_size=8))
def test_exactly_the_rows_are_found_from_any_place(name: str, rows: list[tuple[str, str]]) -> None:
    form = FORMS[name]
    made = [_change(form, op, value, at) for at, (op, value) in enumerate(rows)]
    text, places = encoded(form, made)
    heads = RowHeads(form, "shop", "orders")
    assert heads.seekable
    stamped = [(place, ts if form.include_commit_ts else 0) for place, ts in places]
    first = heads.first(text)
    assert first is not None
    if not form.output_field_header:
        assert (first.offset, first.ts) == stamped[0]
    for begin in range(0, len(text), max(1, len(text) // 40)):
        found = [(begin + head.offset, head.ts) for head in heads.inside(text[begin:])]
        assert found == [place for place in stamped if place[0] >= begin + heads.ender_length]


@pytest.mark.parametrize(
    "form", [replace(FORMS["escape"], terminator=";"), CsvOptions(delimiter="I", include_commit_ts=True)]
)
def test_forms_in_which_a_row_cannot_be_told_are_not_seekable(form: CsvOptions) -> None:
    assert not RowHeads(form, "shop", "orders").seekable


def test_names_are_looked_for_as_they_are_written() -> None:
    form = CsvOptions(include_commit_ts=True)
    text = b'"I","my ""t"".*","s",5,1\r\n"D","MY ""T"".*","s",6,1\r\n'
    heads = RowHeads(form, "s", 'my "t".*')
    assert heads.first(text) is not None
    assert [head.ts for head in heads.inside(text)] == [6]
    assert RowHeads(form, "s", 'my "t"xx').first(text) is None
