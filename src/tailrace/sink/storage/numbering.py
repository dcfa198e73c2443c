"""Numbering: which file numbers of a folder are taken, and which number each staged file gets.

Invariants, which readers rely on: numbers of a folder have no gap and are never used twice; file order is commit
order. Numbers go on above the largest of index and listing. A number that only an index names, or whose file is
empty, is not taken: TiCDC writes its index before the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailrace.change.tso import Ts
from tailrace.errors import SinkRefused
from tailrace.sink.storage.naming import FolderMoves, Move
from tailrace.sink.storage.paths import Layout, index_path
from tailrace.sink.storage.staging import StagedFile
from tailrace.store.filesystem import Store

_MOST_FOLDERS = 100_000


class Numbers:
    """The next free number of each folder; looked up when a folder is first used, and counted from then on."""

    def __init__(self, store: Store, layout: Layout) -> None:
        self._store = store
        self._layout = layout
        self._next: dict[str, int] = {}

    def look_up(self, folders: Sequence[str]) -> None:
        if len(self._next) > _MOST_FOLDERS:
            self._next.clear()
        new = [folder for folder in folders if folder not in self._next]
        self._next.update(zip(new, self._store.each(self._first_free, new), strict=True))

    def next_of(self, folder: str) -> int:
        self.look_up([folder])
        return self._next[folder]

    def taken(self, folder: str, upto: int) -> None:
        """Numbers up to this one have their files."""
        self._next[folder] = max(self._next.get(folder, 1), upto + 1)

    def forget(self) -> None:
        """Look at every folder anew: what was counted may not have happened."""
        self._next.clear()

    def _first_free(self, folder: str) -> int:
        text = self._store.read(index_path(folder))
        listed = (self._layout.number_of(name) for name in self._store.names(folder))
        candidates = [max((number for number in listed if number is not None), default=0)]
        if text is not None:
            candidates.append(self._layout.indexed_number(text.decode("utf-8", "replace"), index_path(folder)))
        largest = max(candidates)
        if not largest:
            return 1
        entry = self._store.entry(f"{folder}/{self._layout.data_name(largest)}")
        return largest + 1 if entry is not None and entry.size else largest


def numbered(
    files: Sequence[StagedFile], folder_of: Callable[[StagedFile], str], numbers: Numbers, layout: Layout
) -> tuple[FolderMoves, ...]:
    """The moves of a cut by folder, for files in the order of their pieces.

    Raises SinkRefused where a folder's rows would go back in commit time: readers would drop them.
    """
    folders: dict[str, list[StagedFile]] = {}
    for file in files:
        folders.setdefault(folder_of(file), []).append(file)
    numbers.look_up(list(folders))
    return tuple(_folder_moves(folder, held, numbers, layout) for folder, held in folders.items())


def _folder_moves(folder: str, files: Sequence[StagedFile], numbers: Numbers, layout: Layout) -> FolderMoves:
    moves: list[Move] = []
    reached: Ts = 0
    for number, file in enumerate(files, numbers.next_of(folder)):
        if file.first_ts < reached:
            raise SinkRefused(
                f"{file.path} begins at commit ts {file.first_ts}, below {reached} of the file before it; "
                f"the pieces of a physical table must ascend in commit time",
                table=f"{file.schema}.{file.table}",
                position=folder,
            )
        reached = file.last_ts
        moves.append(Move(file.path, layout.data_name(number), file.bytes, file.checksum))
    return FolderMoves(folder, numbers.next_of(folder) + len(files) - 1, tuple(moves))
