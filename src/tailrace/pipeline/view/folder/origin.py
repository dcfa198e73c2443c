"""A folder or bucket of TiCDC's storage layout as the origin of a view.

What is read is complete: rows up to the checkpoint in `metadata`, each file's in commit order. A file whose span by
commit ts, or whose date folder, lies outside of what is asked for is not opened. Nothing is ever written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from itertools import accumulate, pairwise
from pathlib import Path

from tailrace.change.schema import TableSchema
from tailrace.change.tso import MAX_TS, Ts, moment
from tailrace.errors import ConfigError, DecodeError, PositionLost
from tailrace.pipeline.view.folder.form import RowForm, form_of
from tailrace.pipeline.view.folder.index import FileSpan, Index
from tailrace.pipeline.view.folder.listing import DataFile, Listing, listing
from tailrace.pipeline.view.folder.place import Place, place_of, sink_config
from tailrace.pipeline.view.folder.portion import FilePortion, Part
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import Limits, Portion, Span, Traits, Version

# A date folder's date is that of a clock somewhere on earth, not before the commit; clocks differ a little.
_CLOCKS = timedelta(days=2)
_SHARES = 8
# A task costs as long as some megabytes do.
_LEAST = 10 << 20


class FolderOrigin:
    def __init__(self, options: ViewOptions) -> None:
        self._options = options
        self._toml = _text(options.config) if options.config else ""
        self._form: RowForm | None = None

    def look(self) -> FolderSight:
        options = self._options
        sink = sink_config(options.uri, self._toml)
        place = place_of(options.uri, self._toml)
        found = listing(place, options, yearly=sink.date_separator == "year")
        first = found.files[0] if found.files else None
        table = found.versions[0].table if first is None else _table_of(found, first)
        form = self._form or form_of(sink, bool(self._toml), place, first, table)
        self._form = form if first else None
        return FolderSight(place, found, form, options, self._toml)

    def release(self, upto: Ts) -> None:
        """A folder keeps its files for everybody."""

    def close(self) -> None:
        """Clients of places stay open for whoever reads next."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A file of some rows that a span asks for, with its own span and its floor."""

    file: DataFile
    span: FileSpan
    floor: Ts


class FolderSight:
    """Answers about one listing."""

    def __init__(self, place: Place, found: Listing, form: RowForm, options: ViewOptions, toml: str) -> None:
        self._place = place
        self._found = found
        self._form = form
        self._options = options
        self._toml = toml
        self._index = Index(place, form.heads(options.schema, options.table))

    @property
    def resolved(self) -> Ts:
        return self._found.checkpoint

    @property
    def versions(self) -> tuple[Version, ...]:
        return self._found.versions

    @property
    def traits(self) -> Traits:
        return Traits(commit_ts=self._form.timed, start_ts=False, snapshot=False)

    def check_kept(self, after: Ts) -> None:
        """A table that was there before the changefeed has its history only from its first version on."""
        first = self._found.versions[0]
        if after and after < first.ts and not first.query:
            raise PositionLost(
                f"changes after {after} are asked for; the folder has them from {first.ts} on",
                table=self._options.full_name,
                position=str(after),
            )

    def portions(self, span: Span, needed: Span) -> Sequence[Portion]:
        """Whole files or parts of them, in a consumer's order, packed into portions of about the same size."""
        if not self._form.timed:
            return self._untimed(span)
        span = span.within(needed)
        parts: list[Part] = []
        for held in self._held(span):
            whole = span.after < held.span.first and held.span.last <= span.upto
            begin, end = (0, held.file.size) if whole else self._index.around(held.file, span.after, span.upto)
            parts.append(Part(held.file, _table_of(self._found, held.file), begin, end, held.floor))
        return self._packed(parts, span)

    def edge(self, span: Span, limits: Limits) -> Ts:
        """The last commit ts of one of the files: the furthest that keeps the limits, or the first there is."""
        if not self._form.timed:
            self._untimed(span)
        held = self._held(span)
        if not held:
            return span.after
        if not (limits.files or limits.bytes):
            return span.upto
        edges = sorted({min(each.span.last, span.upto) for each in held})
        taken = edges[0]
        for edge in edges:
            inside = [each for each in held if each.span.first <= edge]
            size = sum(each.file.size for each in inside)
            if (limits.files and len(inside) > limits.files) or (limits.bytes and size > limits.bytes):
                return taken
            taken = edge
        return span.upto

    def _held(self, span: Span) -> list[_Held]:
        """The files with rows of the span, each with the highest commit ts of those before it in its stream."""
        files = [file for file in self._found.files if self._may_hold(file, span.after)]
        streams: dict[tuple[int, str], Ts] = {}
        held: list[_Held] = []
        for file, known in zip(files, self._index.spans(files), strict=True):
            floor = streams.get(file.stream, 0)
            reached = known.last if known.last < MAX_TS else known.first
            streams[file.stream] = max(floor, reached)
            if known.first <= span.upto and known.last > span.after and known.last >= floor:
                held.append(_Held(file, known, floor))
        return held

    def _may_hold(self, file: DataFile, after: Ts) -> bool:
        """By what the path says: the partition, and the date, which is not before that of any commit."""
        if self._options.partitions and file.partition not in self._options.partitions:
            return False
        if not file.date or not after:
            return True
        return f"{moment(after, UTC) - _CLOCKS:%Y-%m-%d}"[: len(file.date)] <= file.date

    def _untimed(self, span: Span) -> Sequence[Portion]:
        """Rows that carry no commit ts cannot be told apart by it."""
        if span.after or span.upto < self.resolved:
            raise ConfigError(
                "the rows of this folder carry no commit ts (include-commit-ts is false), so startTs, endTs and"
                " streams cannot be had from it",
                table=self._options.full_name,
            )
        files = [file for file in self._found.files if self._may_hold(file, 0)]
        return self._packed([Part(file, _table_of(self._found, file), 0, file.size, 0) for file in files], span)

    def _packed(self, parts: Sequence[Part], span: Span) -> list[Portion]:
        """Portions of about the same size: large parts are cut, and many small ones are one task. Where there is
        little to read, it is still divided, so that more than one core has a share."""
        total = sum(part.end - part.begin for part in parts)
        most = max(min(self._options.partition_bytes, total // _SHARES), min(_LEAST, self._options.partition_bytes))
        pieces = [piece for part in parts for piece in self._cut(part, most)]
        boxes: dict[int, list[Part]] = {}
        for piece, reached in zip(pieces, accumulate(piece.end - piece.begin for piece in pieces), strict=True):
            boxes.setdefault((reached - 1) // most, []).append(piece)
        return [
            FilePortion(self._options.uri, self._toml, self._form, span.after, span.upto, tuple(box))
            for box in boxes.values()
        ]

    def _cut(self, part: Part, most: int) -> Iterator[Part]:
        size = part.end - part.begin
        count = max(1, -(-size // most)) if self._index.heads.seekable else 1
        places = [part.begin + size * at // count for at in range(count + 1)]
        for first, last in pairwise(places):
            yield replace(part, begin=first, end=last)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigError(f"the option config names {path}, which cannot be read: {type(wrong).__name__}") from wrong


def _table_of(found: Listing, file: DataFile) -> TableSchema:
    table = next((version.table for version in found.versions if version.ts == file.version), None)
    if table is None:
        raise DecodeError(f"there is no schema file of version {file.version}", position=file.path)
    return table
