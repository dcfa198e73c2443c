"""Listing a folder again and again: only what changed since the last round costs more than a look at its folders.

A folder's own time of change says whether a name in it came or went. A time that is younger than the clock's grain
could hide a second change, so a folder counts as unchanged only once its time lies a while back. Guarantees: every
file that was there before a round began is in the answer of that round or of an earlier one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tailrace.errors import TailraceError
from tailrace.store.filesystem import OWN

_GRAIN_NS = 2_000_000_000


@dataclass(slots=True)
class _Seen:
    """A folder as it was listed: its time of change, when that was, and the folders in it."""

    changed: int
    listed: int
    below: list[str] = field(default_factory=list)

    def still(self, changed: int) -> bool:
        return changed == self.changed and changed < self.listed - _GRAIN_NS


class FolderListing:
    def __init__(self, root: str, typed: Callable[[OSError], TailraceError]) -> None:
        self._root = root
        self._typed = typed
        self._seen: dict[str, _Seen] = {}
        self._sizes: dict[str, int] = {}
        self.requests = 0

    def round(self) -> list[tuple[str, int]]:
        self.requests = 0
        found: list[tuple[str, int]] = []
        waiting = [""]
        while waiting:
            waiting.extend(self._visit(waiting.pop(), found))
        return found

    def _visit(self, folder: str, found: list[tuple[str, int]]) -> list[str]:
        full = f"{self._root}/{folder}" if folder else self._root
        self.requests += 1
        try:
            changed = os.stat(full).st_mtime_ns
            seen = self._seen.get(folder)
            if seen is not None and seen.still(changed):
                return seen.below
            seen = self._seen[folder] = _Seen(changed, time.time_ns())
            prefix = f"{folder}/" if folder else ""
            with os.scandir(full) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if entry.is_dir():
                        if path != OWN:
                            seen.below.append(path)
                    else:
                        self._file(path, entry.stat().st_size, found)
        except FileNotFoundError:
            self._seen.pop(folder, None)
            return []
        except OSError as error:
            raise self._typed(error) from error
        return seen.below

    def _file(self, path: str, size: int, found: list[tuple[str, int]]) -> None:
        if self._sizes.get(path) != size:
            self._sizes[path] = size
            found.append((path, size))
