"""What lies in a folder of TiCDC's storage layout: data files, schema files, the checkpoint.

Paths are read by position, so any name of a schema or table will do. Whatever is neither is left alone: indexes,
temporary files, and everything under a name that begins with a dot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import pyarrow as pa
import pyarrow.fs

from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import DecodeError

_DATA = re.compile(r"CDC(?:_[0-9]+_)?([0-9]+)\.(?:csv|json)")
_SCHEMA = re.compile(r"schema_([0-9]+)_([0-9]{10})\.json")


@dataclass(frozen=True, slots=True, order=True)
class DataFile:
    """One file of rows, in the order in which files are read."""

    version: Ts
    schema: str
    table: str
    partition: int
    date: str
    number: int
    path: str
    size: int


@dataclass(frozen=True, slots=True, order=True)
class SchemaPath:
    """A schema file's place; an empty `table` is a database's."""

    version: Ts
    schema: str
    table: str
    checksum: int
    path: str


@dataclass(frozen=True, slots=True)
class Listing:
    """`files` hold the data files, `schemas` the schema files, each in order."""

    store: pyarrow.fs.FileSystem
    checkpoint: Ts
    files: tuple[DataFile, ...]
    schemas: tuple[SchemaPath, ...]

    def text(self, path: str) -> pa.Buffer:
        with self.store.open_input_stream(path) as stream:
            return pa.py_buffer(stream.read())


_Path = TypeVar("_Path", SchemaPath, DataFile)


def listing(store: pyarrow.fs.FileSystem, base: str, dated: bool) -> Listing:
    """Everything below `base`; `dated`: data folders end in a date. Without `metadata` there is no checkpoint.

    `metadata` is read first: of a folder that is being written, what it promises is then among what is listed."""
    base = base.rstrip("/")
    promised = checkpoint(store, f"{base}/metadata")
    found = store.get_file_info(pyarrow.fs.FileSelector(base, recursive=True))
    sizes = {info.path: int(info.size) for info in found if info.type == pyarrow.fs.FileType.File}
    parts = {path: tuple(path[len(base) + 1 :].split("/")) for path in sizes}
    visible = {path: names for path, names in parts.items() if not any(name.startswith(".") for name in names)}
    files = sorted(each for path, names in visible.items() for each in _data(path, names, sizes[path], dated))
    schemas = sorted(each for path, names in visible.items() for each in _schema(path, names))
    return Listing(store, promised, tuple(files), tuple(schemas))


def gaps(files: tuple[DataFile, ...]) -> list[str]:
    """Folders whose files are not numbered from 1 without a gap, or hold a file of nothing: no writer of ours does."""
    wrong = [f"{file.path}: is empty" for file in files if not file.size]
    for _, folder in groupby(files, lambda file: file.path.rpartition("/")[0]):
        for expected, file in enumerate(folder, 1):
            if file.number != expected:
                wrong.append(f"{file.path}: number {expected} is missing")
                break
    return wrong


def checkpoint(store: pyarrow.fs.FileSystem, path: str) -> Ts:
    """What `metadata` says; MAX_TS where there is none."""
    try:
        with store.open_input_stream(path) as stream:
            text = stream.read()
    except FileNotFoundError:
        return MAX_TS
    try:
        return int(json.loads(text)["checkpoint-ts"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise DecodeError(
            f'metadata holds {text[:80]!r}; it should be {{"checkpoint-ts":...}}', position=path
        ) from wrong


def by_version(paths: Iterable[_Path]) -> dict[Ts, list[_Path]]:
    """Paths that are in order, by their versions."""
    return {version: list(group) for version, group in groupby(paths, lambda path: path.version)}


def _data(path: str, names: tuple[str, ...], size: int, dated: bool) -> Iterator[DataFile]:
    named = _DATA.fullmatch(names[-1])
    if named is None:
        return
    schema, table, version, *rest = names[:-1] if len(names) > 3 else ("", "", "")
    date = rest.pop() if dated and rest else ""
    partition = rest.pop() if rest else "0"
    if rest or not version.isdigit() or not partition.isdigit() or bool(date) != dated:
        raise DecodeError(
            "a data file in a folder that is not <schema>/<table>/<version>[/<partition>][/<date>]", position=path
        )
    yield DataFile(int(version), schema, table, int(partition), date, int(named[1]), path, size)


def _schema(path: str, names: tuple[str, ...]) -> Iterator[SchemaPath]:
    named = _SCHEMA.fullmatch(names[-1])
    if named is not None and len(names) in (3, 4) and names[-2] == "meta":
        table = names[1] if len(names) == 4 else ""
        yield SchemaPath(int(named[1]), names[0], table, int(named[2]), path)
