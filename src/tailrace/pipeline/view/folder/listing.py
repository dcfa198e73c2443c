"""What lies in one table's folder: data files and schema files, in the order in which a consumer takes them.

Paths are read by position, so any name will do; whatever is neither is left alone (indexes, temporary files, names
that begin with a dot). `metadata` is read before anything is listed, so every change up to the checkpoint is in the
files of the listing.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, replace

from tailrace.change.tso import Ts
from tailrace.errors import DecodeError, NotFound
from tailrace.pipeline.view.folder.place import Found, Place
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import REWRITES, Version
from tailrace.upstream.storage.paths import Folder, SchemaPath
from tailrace.upstream.storage.schemas import Remembered, entry_of

_DATA = re.compile(r"CDC(?:_([0-9]+)_)?([0-9]+)\.(?:csv|json)")
_SCHEMA = re.compile(r"schema_([0-9]+)_([0-9]{10})\.json")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")
_YEAR = re.compile(r"[0-9]{4}")


@dataclass(frozen=True, slots=True, order=True)
class DataFile:
    """A file of rows, in a consumer's order. Files of one `stream` hold their rows in commit order."""

    version: Ts
    partition: int
    date: str
    dispatcher: str
    number: int
    path: str
    size: int
    modified: int

    @property
    def stream(self) -> tuple[int, str]:
        return self.partition, self.dispatcher


@dataclass(frozen=True, slots=True)
class Listing:
    checkpoint: Ts
    files: tuple[DataFile, ...]
    versions: tuple[Version, ...]


def listing(place: Place, options: ViewOptions, yearly: bool) -> Listing:
    """Raises NotFound for a folder that is no changefeed's, and for a table that it has not."""
    checkpoint = _checkpoint(place)
    folder = f"{options.schema}/{options.table}"
    found = [file for file in place.files(folder) if not any(name.startswith(".") for name in file.path.split("/"))]
    parts = {file: tuple(file.path[len(folder) + 1 :].split("/")) for file in found}
    schemas = [(file, named) for file in found if (named := _schema_name(parts[file]))]
    if not schemas:
        raise NotFound(_no_table(place, options), table=options.full_name, position=place.name)
    files = [data for file in found if file.size and (data := _data(file, parts[file], yearly))]
    return Listing(checkpoint, tuple(sorted(files)), _versions(place, schemas, options))


def _checkpoint(place: Place) -> Ts:
    text = place.read("metadata")
    if text is None:
        raise NotFound(
            f"{place.name} is not the root of a changefeed: it has no file metadata"
            " (a changefeed writes it some seconds after it began)",
            position=place.name,
        )
    try:
        return int(json.loads(text)["checkpoint-ts"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise DecodeError(
            f'metadata holds {text[:80]!r}; it should be {{"checkpoint-ts":...}}', position=place.name
        ) from wrong


def _no_table(place: Place, options: ViewOptions) -> str:
    tables = [name for name in place.folders(options.schema) if name != "meta"]
    if tables:
        return f"there is no table {options.full_name}; {options.schema} has {', '.join(tables[:20])}"
    schemas = [name for name in place.folders("") if not name.startswith(".")]
    return f"there is no table {options.full_name}, and no schema of that name; there is {', '.join(schemas) or 'none'}"


def _schema_name(parts: tuple[str, ...]) -> tuple[Ts, int] | None:
    named = _SCHEMA.fullmatch(parts[-1])
    return (int(named[1]), int(named[2])) if named and len(parts) == 2 and parts[0] == "meta" else None


def _data(file: Found, parts: tuple[str, ...], yearly: bool) -> DataFile | None:
    named = _DATA.fullmatch(parts[-1])
    if named is None:
        return None
    version, *rest = parts[:-1] if len(parts) > 1 else ("",)
    dated = bool(rest) and bool((_YEAR if yearly else _DATE).fullmatch(rest[-1]))
    date = rest.pop() if dated else ""
    partition = rest.pop() if rest else "0"
    if rest or not version.isdigit() or not partition.isdigit():
        raise DecodeError(
            "a data file in a folder that is not <schema>/<table>/<version>[/<partition>][/<date>]", position=file.path
        )
    place = (int(version), int(partition), date, named[1] or "", int(named[2]))
    return DataFile(*place, file.path, file.size, file.modified)


def _versions(place: Place, found: list[tuple[Found, tuple[Ts, int]]], options: ViewOptions) -> tuple[Version, ...]:
    """Of each version its first file. Queries say what schema files leave out: virtual columns, members of enums."""
    texts = place.each(lambda item: _schema_text(place, item[0]), found)
    folder, said, known = Folder(options.schema, options.table), Remembered(), dict[Ts, Version]()
    for (file, (ts, checksum)), text in sorted(zip(found, texts, strict=True), key=lambda each: each[0][1][0]):
        entry = entry_of(SchemaPath(folder, ts, checksum, file.path), text or b"")
        if ts in known:
            continue
        said = said.after(entry.statement) if entry.statement else said
        whole = said.table(entry, 0)
        columns = tuple(column for column in whole.columns if column.name not in options.virtual)
        rewrites = bool(entry.query) and entry.type in REWRITES
        known[ts] = Version(ts, replace(whole, columns=columns), entry.query, rewrites)
    return tuple(known[ts] for ts in sorted(known))


@functools.lru_cache(maxsize=4096)
def _schema_text(place: Place, file: Found) -> bytes | None:
    """Schema files never change, and a stream looks at them again and again."""
    return place.read(file.path)
