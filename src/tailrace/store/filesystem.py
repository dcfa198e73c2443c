"""Stores: what a sink and an upstream ask of a folder or a bucket.

What a `Store` guarantees: `replace`, `publish` and a closed `StagedOutput` are all or nothing for a reader; `publish`
never changes a file that another had put there; after `settle` what was done before survives a loss of power.
Paths are relative to the prefix, with `/` between levels. Errors are SinkAway (not reachable, full) or SinkRefused
(no access, no bucket), and name the place without its secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

# The folder below a prefix that holds what is Tailrace's own; no reader of the layout looks into it.
OWN = ".tailrace"

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its path below the prefix, its size, and when it was written, by the store's own clock."""

    path: str
    size: int
    modified: float


class StagedOutput(Protocol):
    def write(self, data: memoryview) -> None: ...

    def close(self) -> None:
        """The file is there, whole and durable."""
        ...


class Store(Protocol):
    @property
    def place(self) -> str:
        """The folder or bucket with its prefix and endpoint, for messages."""
        ...

    def read(self, path: str) -> bytes | None: ...

    def entry(self, path: str) -> Entry | None: ...

    def names(self, folder: str) -> list[str]:
        """Names of the files directly in a folder; none where it does not exist."""
        ...

    def sizes(self, folder: str) -> dict[str, int]: ...

    def folders(self, folder: str) -> list[str]:
        """Names of the folders directly in a folder."""
        ...

    def replace(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write whole files; a reader sees the old content or the new, also after a loss of power."""
        ...

    def create(self, path: str) -> StagedOutput: ...

    def publish(self, source: str, target: str) -> bool:
        """Give a staged file its final name; False: there is no such source. The source may stay behind.

        A target of the same content is fine. Raises SinkRefused where it is another file with content.
        """
        ...

    def remove(self, path: str) -> None:
        """Harmless where there is none."""
        ...

    def remove_folder(self, folder: str) -> None:
        """Everything below it too; harmless where there is none."""
        ...

    def remove_empty(self, folder: str) -> None:
        """Remove a folder in which nothing is left; others stay."""
        ...

    def settle(self) -> None: ...

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The results in order; at once where waiting for the store is what takes the time."""
        ...


class Listing(Protocol):
    """All files below a prefix, round after round; what is Tailrace's own is left out."""

    requests: int

    def round(self) -> list[tuple[str, int]]:
        """Path and size of every file that is new or changed since the last round, and perhaps of some that are not."""
        ...


class ReadableStore(Protocol):
    """The reading side: what an upstream asks."""

    requests: int

    @property
    def place(self) -> str: ...

    def listing(self) -> Listing: ...

    def read(self, path: str) -> bytes | None: ...

    def entry(self, path: str) -> Entry | None: ...

    def part(self, path: str, offset: int, length: int) -> bytes:
        """Some bytes of a file; fewer where it ends. A file that is not there is empty."""
        ...

    def content(self, path: str) -> pa.Buffer | None:
        """A whole file, mapped into memory where that is possible."""
        ...

    def folders(self, folder: str) -> list[str]: ...

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]: ...


class WholeStore(Store, ReadableStore, Protocol):
    """Both sides of one store."""
