"""Paths of TiCDC's storage layout, read: by position and from the right, so that any name will do. Pure.

    <schema>/<table>/<version>[/<partition id>][/<date>]/CDC[_<dispatcher>_]<number><extension>
    <table id>/<version>[/<date>]/CDC...              the new architecture with `use-table-id-as-path`
    <schema>[/<table>]/meta/schema_<version>_<checksum>.json, or <table id>/meta/schema_...
    <schema>/<table>/<version>/schema.json            the form of the design documents

Everything else is nobody's: indexes, temporary files, names that begin with a dot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailrace.change.tso import Ts
from tailrace.errors import DecodeError

_DATA = re.compile(r"CDC(?:_(\d+)_)?(\d+)(\.[a-z]+)", re.ASCII)
_SCHEMA = re.compile(r"schema_(\d+)_(\d{10})\.json", re.ASCII)
_DATES = {
    "year": re.compile(r"\d{4}", re.ASCII),
    "month": re.compile(r"\d{4}-\d\d", re.ASCII),
    "day": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
}
_LARGEST = 1 << 63


@dataclass(frozen=True, slots=True, order=True)
class Folder:
    """A table's folder. `schema` is empty where the folder is a table id."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}/{self.table}" if self.schema else self.table


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """One numbered run of files of a table version."""

    partition: int
    date: str
    dispatcher: str


@dataclass(frozen=True, slots=True)
class DataFile:
    folder: Folder
    version: Ts
    run: Run
    number: int
    path: str
    size: int

    @property
    def order(self) -> tuple[Ts, str, int, str]:
        """Where the file stands among all of its table and partition, in the order in which they were written."""
        return (self.version, self.run.date, self.number, self.run.dispatcher)


@dataclass(frozen=True, slots=True)
class SchemaPath:
    """`folder.table` is empty for a database, or for a folder that is a table id: the file says which. No checksum:
    the path has none."""

    folder: Folder
    version: Ts
    checksum: int | None
    path: str


@dataclass(frozen=True, slots=True)
class PathForm:
    """How the paths of one changefeed are made."""

    extension: str
    date_separator: str = "day"

    def read(self, path: str, size: int) -> DataFile | SchemaPath | None:
        """What a path is; None for what is nobody's. Raises DecodeError for a data file in no place of the layout."""
        *folders, name = path.split("/")
        if any(each.startswith(".") for each in folders) or not folders:
            return None
        data = _DATA.fullmatch(name)
        if data is not None and data[3] == self.extension:
            return self._data(folders, path, size, data[1] or "", int(data[2]))
        schema = _SCHEMA.fullmatch(name)
        if schema is not None and folders[-1] == "meta" and len(folders) in (2, 3):
            folder = Folder(folders[0], folders[1] if len(folders) == 3 else "")
            return SchemaPath(folder, _number(schema[1], path), int(schema[2]), path)
        if name == "schema.json" and len(folders) == 3 and folders[2].isdigit():
            return SchemaPath(Folder(folders[0], folders[1]), _number(folders[2], path), None, path)
        return None

    def _data(self, folders: list[str], path: str, size: int, dispatcher: str, number: int) -> DataFile:
        levels, date = list(folders), ""
        if self.date_separator in _DATES:
            date = levels.pop()
            if not _DATES[self.date_separator].fullmatch(date):
                raise self._misplaced(path)
        if len(levels) == 2 and all(level.isdigit() for level in levels):
            levels.insert(0, "")
        if len(levels) not in (3, 4) or not all(level.isdigit() and level.isascii() for level in levels[2:]):
            raise self._misplaced(path)
        partition = _number(levels[3], path) if len(levels) == 4 else 0
        version = _number(levels[2], path)
        return DataFile(Folder(levels[0], levels[1]), version, Run(partition, date, dispatcher), number, path, size)

    def _misplaced(self, path: str) -> DecodeError:
        level = "" if self.date_separator not in _DATES else f"/<{self.date_separator}>"
        return DecodeError(
            f"a data file that does not lie in <schema>/<table>/<version>[/<partition>]{level}: the URI must name the "
            f"changefeed's own prefix, and date-separator ({self.date_separator}) must be the changefeed's",
            position=path,
        )


def _number(text: str, path: str) -> int:
    found = int(text)
    if found >= _LARGEST:
        raise DecodeError(f"{text} in a path is larger than any version or id", position=path)
    return found
