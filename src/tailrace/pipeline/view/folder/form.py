"""The form of a folder's rows: from the changefeed's TOML, or seen in the first row of a file.

The layout does not record a changefeed's options. Where no TOML is given, TiCDC's defaults are taken for what decides
how cells are cut (delimiter, quote, terminator), and the number of cells tells the rest: whether rows carry a commit
ts, and whether they carry old values. What cannot be told is refused with a request for the TOML, never guessed.
Canal-json is known by the names of its files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.base import FileDecoder
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonOptions
from tailrace.codec.columns import visible
from tailrace.codec.csv import CsvDecoder
from tailrace.codec.csv.options import CsvOptions
from tailrace.config import SinkConfig
from tailrace.errors import ConfigError, DecodeError
from tailrace.pipeline.view.folder.lineheads import LineHeads
from tailrace.pipeline.view.folder.listing import DataFile
from tailrace.pipeline.view.folder.place import Place
from tailrace.pipeline.view.folder.rowheads import Head, RowHeads

_HEADER = "ticdc-meta$operation"
_META = ("ticdc-meta$commit-ts", "ticdc-meta$is-update")
_HEAD_BYTES = 64 << 10
_LONGEST_HEAD = 64 << 20


class Heads(Protocol):
    """Where rows begin in a text, and of which commit ts they are."""

    @property
    def seekable(self) -> bool: ...

    @property
    def ender_length(self) -> int: ...

    def first(self, text: bytes) -> Head | None: ...

    def inside(self, text: bytes) -> Iterator[Head]: ...


@dataclass(frozen=True, slots=True)
class RowForm:
    """CSV, or canal-json where its options are there."""

    csv: CsvOptions
    canal_json: CanalJsonOptions | None = None

    @property
    def timed(self) -> bool:
        """Whether each row has its commit ts."""
        return self.canal_json is not None or self.csv.include_commit_ts

    def heads(self, schema: str, table: str) -> Heads:
        return LineHeads(self.canal_json) if self.canal_json else RowHeads(self.csv, schema, table)

    def decoder(self, version: Ts, wanted: frozenset[str], is_first: bool) -> FileDecoder:
        """What reads the rows of a version from one beginning of a row on, the file's own or a later one."""
        if self.canal_json:
            return CanalJsonDecoder(self.canal_json)
        header = self.csv.output_field_header and is_first
        return CsvDecoder(replace(self.csv, output_field_header=header), version, wanted=wanted)


def stated(sink: SinkConfig) -> RowForm:
    """What the changefeed's configuration says."""
    if sink.protocol not in ("csv", "canal-json"):
        raise ConfigError(f"a view cannot read the protocol {sink.protocol}; it may be csv or canal-json")
    options = CsvOptions.of(sink)
    if sink.protocol == "csv":
        return RowForm(options)
    return RowForm(options, CanalJsonOptions.of_files(sink))


def form_of(sink: SinkConfig, is_configured: bool, place: Place, file: DataFile | None, table: TableSchema) -> RowForm:
    """The form of a table's files, the first of which is `file`, of this version of the table."""
    if is_configured:
        return stated(sink)
    if file is None:
        return RowForm(CsvOptions(include_commit_ts=True))
    if file.path.endswith(".json"):
        text = place.part(file.path, 0, min(_HEAD_BYTES, file.size)).to_pybytes()
        return RowForm(CsvOptions(), CanalJsonOptions(enable_tidb_extension=b'"_tidb":{' in text))
    return RowForm(seen(place, file, table))


def seen(place: Place, file: DataFile, table: TableSchema) -> CsvOptions:
    """What the first row of a file of CSV shows, with TiCDC's defaults for the rest."""
    usual = CsvOptions(include_commit_ts=True)
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
