"""`metadata`, and the other files that no epoch can fence.

`metadata` tells readers up to which commit ts everything is there, as TiCDC writes it: `{"checkpoint-ts":N}`. Within
the life of one owner it never falls. An owner that lost its seat may still finish a write that it had begun, of
`metadata` or of an index: so for a while after a take-over the new owner looks again at what it wrote, and writes it
anew where somebody changed it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from tailrace.change.tso import Ts
from tailrace.sink.storage.paths import METADATA
from tailrace.store.filesystem import Store

_WATCH_SECONDS = 100.0
_LOOK_EVERY = 5.0


def content(ts: Ts) -> bytes:
    return json.dumps({"checkpoint-ts": ts}, separators=(",", ":")).encode()


class Unfenced:
    """Writes `metadata` and index files. `clock` is a monotonic one."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._until = clock() + _WATCH_SECONDS
        self._looked = clock()
        self._wrote: dict[str, bytes] = {}
        self._advanced: Ts = 0

    @property
    def advanced(self) -> Ts:
        """The ts that `metadata` was last advanced to, 0 before the first time."""
        return self._advanced

    def advance(self, ts: Ts) -> None:
        if ts > self._advanced:
            self.write([(METADATA, content(ts))])
            self._advanced = ts

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Index files, or `metadata`. Durable with the store's next `settle`: an old one is only out of date."""
        listed = list(files)
        if self._watching():
            self._wrote.update(listed)
        self._store.replace(listed)

    def look_again(self) -> None:
        """Call this often; it looks every few seconds, and only for a while after the take-over."""
        if not self._watching() or self._clock() - self._looked < _LOOK_EVERY:
            return
        self._looked = self._clock()
        paths = list(self._wrote)
        found = dict(zip(paths, self._store.each(self._store.read, paths), strict=True))
        fallen = [(path, self._wrote[path]) for path in paths if found[path] != self._wrote[path]]
        if fallen:
            self._store.replace(fallen)

    def _watching(self) -> bool:
        if self._clock() >= self._until:
            self._wrote.clear()
            return False
        return True
