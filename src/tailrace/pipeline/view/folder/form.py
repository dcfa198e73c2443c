"""The form of a folder's rows: from the changefeed's TOML, or seen in the first row of a file.

The layout does not record a changefeed's options. Where no TOML is given, TiCDC's defaults are taken for what decides
how cells are cut (delimiter, quote, terminator), and the number of cells tells the rest: whether rows carry a commit
ts, and whether they carry old values. What cannot be told is refused with a request for the TOML, never guessed.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from tailrace.change.schema import TableSchema
from tailrace.codec.csv.cells import visible
from tailrace.codec.csv.options import CsvOptions
from tailrace.config import SinkConfig
from tailrace.errors import ConfigError, DecodeError
from tailrace.pipeline.view.folder.listing import DataFile
from tailrace.pipeline.view.folder.place import Place

_HEADER = "ticdc-meta$operation"
_META = ("ticdc-meta$commit-ts", "ticdc-meta$is-update")
_HEAD_BYTES = 64 << 10
_LONGEST_HEAD = 64 << 20


def stated(sink: SinkConfig) -> CsvOptions:
    """What the changefeed's configuration says."""
    own = sink.csv
    return CsvOptions(
        delimiter=own.delimiter,
        quote=own.quote,
        null=own.null,
        terminator=sink.terminator,
        include_commit_ts=own.include_commit_ts,
        binary_encoding_method=own.binary_encoding_method,
        output_old_value=own.output_old_value,
        output_handle_key=own.output_handle_key,
        output_field_header=own.output_field_header,
    )


def seen(place: Place, file: DataFile | None, table: TableSchema) -> CsvOptions:
    """What the first row of a file shows, with TiCDC's defaults for the rest."""
    usual = CsvOptions(include_commit_ts=True)
    if file is None:
        return usual
    try:
        cells = _first_cells(place, file)
        if cells and cells[0] == _HEADER:
            flags = [name in cells for name in _META]
            return replace(usual, include_commit_ts=flags[0], output_old_value=flags[1], output_field_header=True)
    except csv.Error as wrong:
        raise DecodeError(f"the first row is no CSV of TiCDC's usual form ({wrong})", position=file.path) from wrong
    more = len(cells) - 3 - len(visible(table))
    if more == 1:
        dated = cells[3].isdigit()
        return replace(usual, include_commit_ts=dated, output_old_value=not dated)
    if more in (0, 2):
        return replace(usual, include_commit_ts=more == 2, output_old_value=more == 2)
    raise ConfigError(
        f"a row has {len(cells)} cells, which do not fit the table's {len(visible(table))} columns: give the"
        " changefeed's TOML file by the option config, and virtual generated columns,"
        " which rows lack, by virtualColumns",
        table=table.full_name,
        position=file.path,
    )


def _first_cells(place: Place, file: DataFile) -> list[str]:
    """The cells of the first row, of which as much of the file is read as it takes."""
    size = _HEAD_BYTES
    while True:
        text = place.part(file.path, 0, min(size, file.size)).to_pybytes().decode("utf-8", "replace")
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            first = next(rows, [])
            if size >= file.size or next(rows, None) is not None:
                return first
        except csv.Error:
            if size >= min(file.size, _LONGEST_HEAD):
                raise
        size *= 16
