"""A sink that misbehaves on demand: it hangs, does not answer or refuses, at a place that a file names.

`bad://?sink=URI&order=FILE` is the sink of that URI for as long as the file is not there. The file holds two words:
where (`write` on a worker; `open`, `commit`, `ddl` or `advance` on the driver) and how (`hang`, `away` or `refuse`).
While a call hangs it looks at the file again, so removing it heals the sink. No package knows the scheme by itself:
`make_known` puts it among the entry points of this process, and of those that it starts.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from tailrace import plugins
from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import SinkAway, SinkRefused
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, Sink, SinkSpec, SinkWriter, Written

LOOK_SECONDS = 0.2


def bad_uri(sink: str, order: Path) -> str:
    return f"bad://?sink={quote(sink, safe='')}&order={quote(str(order), safe='')}"


def make_known(folder: Path) -> None:
    """Register the scheme through a package's metadata in `folder`; before Spark starts."""
    place = folder / "tailrace_bad_sink-0.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: tailrace-bad-sink\nVersion: 0\n")
    (place / "entry_points.txt").write_text(f"[tailrace.sinks]\nbad = {__name__}:BadSink\n")
    sys.path.append(str(folder))
    known = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{known}{os.pathsep}{folder}" if known else str(folder)


class BadSink:
    def __init__(self, spec: SinkSpec) -> None:
        asked = parse_qs(urlsplit(spec.uri).query)
        self._order = Path(asked["order"][0])
        self._sink: Sink = plugins.open_sink(replace(spec, uri=asked["sink"][0]))

    @property
    def capabilities(self) -> Capabilities:
        return self._sink.capabilities

    def verify(self) -> list[Problem]:
        return self._sink.verify()

    def open(self, seat: Seat) -> None:
        self._pass("open")
        self._sink.open(seat)

    def writer(self, piece: Piece) -> BadWriter:
        return BadWriter(self, self._sink.writer(piece))

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        self._pass("commit")
        self._sink.commit(cut, receipts)

    def recover(self, cut: Cut, naming: str) -> None:
        self._sink.recover(cut, naming)

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        self._pass("ddl")
        self._sink.ddl(events)

    def advance(self, to_ts: Ts) -> None:
        self._pass("advance")
        self._sink.advance(to_ts)

    def abort(self, cut: Cut) -> None:
        self._sink.abort(cut)

    def close(self) -> None:
        self._sink.close()

    def _pass(self, place: str) -> None:
        while (how := self._how(place)) == "hang":
            time.sleep(LOOK_SECONDS)
        if how == "away":
            raise SinkAway(f"the sink does not answer in {place}, as {self._order} asks")
        if how == "refuse":
            raise SinkRefused(f"the sink says no in {place}, as {self._order} asks")

    def _how(self, place: str) -> str:
        try:
            where, _, how = self._order.read_text().strip().partition(" ")
        except FileNotFoundError:
            return ""
        return how if where == place else ""


class BadWriter:
    def __init__(self, sink: BadSink, writer: SinkWriter) -> None:
        self._sink = sink
        self._writer = writer

    def write(self, batch: ChangeBatch) -> None:
        self._sink._pass("write")
        self._writer.write(batch)

    def close(self) -> Written:
        return self._writer.close()

    def discard(self) -> None:
        self._writer.discard()
