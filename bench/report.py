"""The report of a bench: figures, each beside the limit that was measured in the same run.

A figure's key is bench or codec, then direction or phase, then table, then what, joined by dots, with underscores for
dashes: `csv.encode.narrow.rows_per_s`. A figure without a limit is only a number; on a noisy machine the ratio is
what may be compared. The report never keeps one run's limit for another run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import psutil

_KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")


@dataclass(frozen=True, slots=True)
class Figure:
    key: str
    value: float
    limit: str = ""
    ratio: float | None = None


@dataclass
class Report:
    """Collects the figures of one run, prints them as one table and saves them as JSON.

    The keys of limits are figures too, below `limit.`.
    """

    name: str
    figures: list[Figure] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)

    def limit(self, name: str, value: float) -> float:
        """What the machine could do at best, as measured in this run."""
        self.limits[name] = value
        self._add(Figure(f"limit.{name}", value))
        return value

    def add(self, key: str, value: float, limit: str = "") -> float:
        """A measured figure, with the name of the limit that it is compared to."""
        self._add(Figure(key, value, limit, value / self.limits[limit] if limit else None))
        return value

    def _add(self, figure: Figure) -> None:
        if not _KEY.fullmatch(figure.key):
            raise ValueError(f"the key of a figure is {figure.key!r}; it must be lower-case words joined by dots")
        if any(known.key == figure.key for known in self.figures):
            raise ValueError(f"the figure {figure.key} is there already")
        self.figures.append(figure)

    def table(self) -> str:
        """The printed form: key, value, ratio to the limit, limit."""
        rows = [("figure", "value", "ratio", "of limit")]
        for figure in self.figures:
            ratio = "" if figure.ratio is None else f"{figure.ratio:.3f}"
            rows.append((figure.key, _number(figure.value), ratio, figure.limit))
        widths = [max(len(row[at]) for row in rows) for at in range(4)]
        lines = [f"{r[0]:<{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]}".rstrip() for r in rows]
        return "\n".join([f"bench {self.name}", *lines])

    def save(self, path: Path) -> None:
        """Writes the figures, and beside them the ratios, so that a reader needs no second file."""
        document = {
            "bench": self.name,
            "figures": {figure.key: figure.value for figure in self.figures},
            "ratios": {figure.key: figure.ratio for figure in self.figures if figure.ratio is not None},
        }
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def finish(self, json_path: Path | None) -> None:
        print(self.table())
        if json_path is not None:
            self.save(json_path)


def arguments(
    name: str, argv: Sequence[str] | None = None, extend: Callable[[argparse.ArgumentParser], None] | None = None
) -> argparse.Namespace:
    """The command line that all benches share: `--json FILE`; `extend` adds what one bench needs."""
    parser = argparse.ArgumentParser(prog=f"bench {name}")
    parser.add_argument("--json", type=Path, default=None, metavar="FILE", help="write the figures to FILE")
    if extend is not None:
        extend(parser)
    return parser.parse_args(sys.argv[1:] if argv is None else argv)


def best_seconds(
    work: Callable[[], object],
    budget: float = 1.0,
    least: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The shortest time of one call, among as many calls as fit the budget; the first call only warms up.

    For work that only computes, on one core, `time.process_time` is the clock: others on the machine disturb it less.
    """
    work()
    best, spent, calls = float("inf"), 0.0, 0
    while calls < least or spent < budget:
        start = clock()
        work()
        taken = clock() - start
        best, spent, calls = min(best, taken), spent + taken, calls + 1
    return best


class PeakMemory:
    """Watches the resident memory of a process and its children while the `with` block runs."""

    def __init__(self, pid: int | None = None, every: float = 0.02) -> None:
        self._root = psutil.Process(pid)
        self._every = every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0

    def _sample(self) -> int:
        total = 0
        for process in [self._root, *self._children()]:
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue  # it ended between the listing and the look
        return total

    def _children(self) -> list[psutil.Process]:
        try:
            return self._root.children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _watch(self) -> None:
        while not self._done.wait(self._every):
            self.bytes = max(self.bytes, self._sample())

    def __enter__(self) -> PeakMemory:
        self.bytes = self._sample()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()
        self.bytes = max(self.bytes, self._sample())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
