"""Cells to bytes, in two ways that agree byte for byte.

`native` lets `pyarrow.csv` write, three times as fast, where `writes_natively` says that it can express the form.
`joined` writes every form: any delimiter, any quote, escape mode, numbers laid out as Go does.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from tailrace.codec.binary import content
from tailrace.codec.columns import replace_in
from tailrace.codec.csv.cells import Cell
from tailrace.codec.csv.options import CsvOptions


def writes_natively(cells: Sequence[Cell], options: CsvOptions) -> bool:
    """Whether `pyarrow.csv` can express the form of these options and all of these cells."""
    form = options.quote == '"' and '"' not in options.null and bool(options.terminator)
    delimiter = len(options.delimiter.encode()) == 1 and options.delimiter not in options.terminator
    return form and delimiter and not any(cell.is_bare_text for cell in cells)


def native(cells: Sequence[Cell], options: CsvOptions) -> pa.Buffer:
    """The rows, by `pyarrow.csv`."""
    form = arrow_csv.WriteOptions(
        include_header=False,
        delimiter=options.delimiter,
        eol=options.terminator,
        null_string=options.null,
        quoting_style="needed",
    )
    table = pa.Table.from_arrays([cell.values for cell in cells], names=[str(at) for at in range(len(cells))])
    out = pa.BufferOutputStream()
    arrow_csv.write_csv(table, out, form)
    return out.getvalue()


def joined(cells: Sequence[Cell], options: CsvOptions) -> pa.Buffer:
    """The rows, by joining the text of all cells; literals between two cells are merged into one."""
    pieces: list[pa.Array | pa.Scalar] = []
    literal = ""
    for at, cell in enumerate(cells):
        literal += options.delimiter if at else ""
        text = _protected(cell.text, options) if cell.quoted else cell.text
        quote = options.quote if cell.quoted else ""
        if quote and text.null_count:  # a NULL has no quotes, so they belong to the values
            text, quote = pc.binary_join_element_wise(quote, text, quote, ""), ""
        pieces += [pa.scalar(literal + quote), text]
        literal = quote
    pieces.append(pa.scalar(literal + options.terminator))
    rows = pc.binary_join_element_wise(*pieces, "", null_handling="replace", null_replacement=options.null)
    return pa.py_buffer(content(rows)[1])


def _protected(text: pa.StringArray, options: CsvOptions) -> pa.StringArray:
    """Values made safe inside their quotes, or, without quotes, by backslashes."""
    if options.quote:
        return replace_in(text, options.quote, options.quote * 2)
    for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r")):
        text = replace_in(text, plain, escaped)
    return replace_in(text, options.delimiter, "".join("\\" + letter for letter in options.delimiter))
