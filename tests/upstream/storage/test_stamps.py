"""The first and last commit ts of a file, from its ends alone, are those of its first and last row."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.codec.csv import CsvOptions
from tailrace.upstream.storage.stamps import CsvStamps, JsonStamps, Stamps, stamps_of

FORMS = [
    CsvOptions(include_commit_ts=True),
    CsvOptions(include_commit_ts=True, quote="'", delimiter="|", terminator="\n"),
    CsvOptions(include_commit_ts=True, quote="", delimiter="||"),
]


def row(form: CsvOptions, ts: int, value: str) -> str:
    def text(plain: str) -> str:
        if form.quote:
            return form.quote + plain.replace(form.quote, form.quote * 2) + form.quote
        plain = plain.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return plain.replace(form.delimiter, "".join("\\" + each for each in form.delimiter))

    return form.delimiter.join([text("I"), text("t|,b"), text("s"), str(ts), text(value)]) + form.terminator


def times(stamps: Stamps, data: bytes) -> tuple[int, int] | None:
    return stamps_of(stamps, lambda offset, length: data[offset : offset + length], len(data))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FORMS),
    st.lists(st.text(alphabet="aI\"',|\r\n\\U0", max_size=30), min_size=1, max_size=5),
    st.sampled_from([1, 9_000]),
)
def test_the_ends_of_a_file_say_what_its_rows_say(form: CsvOptions, values: list[str], longer: int) -> None:
    data = "".join(row(form, 100 + at, value * longer) for at, value in enumerate(values)).encode()
    assert times(CsvStamps(form), data) == (100, 99 + len(values))


def test_a_last_row_without_its_terminator_counts_and_half_a_row_does_not() -> None:
    form = FORMS[0]
    whole = (row(form, 5, "a") + row(form, 6, "b")).encode()
    assert times(CsvStamps(form), whole[:-2]) == (5, 6)
    assert times(CsvStamps(form), whole + b'"I","t"') == (5, 6)
    assert times(CsvStamps(form), b'"I","t') is None


def test_a_header_is_stepped_over() -> None:
    form = CsvOptions(include_commit_ts=True, output_field_header=True)
    data = (
        b"ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,ticdc-meta$commit-ts,v\r\n"
        + row(form, 7, "x").encode()
    )
    assert times(CsvStamps(form), data) == (7, 7)


@pytest.mark.parametrize("count", [1, 3, 400])
def test_json_messages_tell_their_commit_ts(count: int) -> None:
    lines = [b'{"data":[{"v":"%s"}],"_tidb":{"commitTs":%d}}\r\n' % (b"x" * 100, 50 + at) for at in range(count)]
    assert times(JsonStamps(b"\r\n"), b"".join(lines)) == (50, 49 + count)


def test_a_small_file_is_asked_for_once_and_a_large_one_only_at_its_ends() -> None:
    form, asked = FORMS[0], []

    def part(offset: int, length: int) -> bytes:
        asked.append(length)
        return data[offset : offset + length]

    data = row(form, 5, "a").encode()
    assert stamps_of(CsvStamps(form), part, len(data)) == (5, 5)
    assert asked == [len(data)]
    asked.clear()
    data = b"".join(row(form, at, "x" * 1000).encode() for at in range(1, 101))
    assert stamps_of(CsvStamps(form), part, len(data)) == (1, 100)
    assert sum(asked) < len(data)
