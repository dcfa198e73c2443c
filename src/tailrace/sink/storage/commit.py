"""Carrying a naming out: schema files, then data files, then indexes.

`carry_out` may be called any number of times with one naming, also after a crash anywhere inside it: the end is the
same, and nothing of the folder but what the naming says changes. A reader never sees data without its schema file,
and, by an index, no file before all smaller ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import xxhash

from tailrace.errors import SinkAway, SinkRefused
from tailrace.observe.failpoints import reach
from tailrace.sink.storage.metadata import Unfenced
from tailrace.sink.storage.naming import FolderMoves, Move, Naming
from tailrace.sink.storage.staging import StagedFile
from tailrace.store.filesystem import Store


def check_staged(store: Store, folder: str, files: Sequence[StagedFile]) -> None:
    """Every file of the receipts is there with its size; raises SinkAway, because a repeated piece stages it anew."""
    sizes = store.sizes(folder)
    for file in files:
        parent, _, name = file.path.rpartition("/")
        if parent != folder or sizes.get(name) != file.bytes:
            raise SinkAway(
                f"the staged file {file.path} has {sizes.get(name, 'no')} bytes, not {file.bytes}; "
                f"its piece has to be written again",
                table=f"{file.schema}.{file.table}",
                position=store.place,
            )


def carry_out(naming: Naming, store: Store, unfenced: Unfenced) -> None:
    store.replace((path, content.encode()) for path, content in naming.schemas)
    reach("after-schemas")
    store.each(lambda folder: _publish(folder, store), naming.folders)
    reach("before-index")
    unfenced.write(folder.index for folder in naming.folders)
    reach("after-index")
    store.settle()


def _publish(folder: FolderMoves, store: Store) -> None:
    """Ascending, so that a reader that looks in between never finds a gap."""
    for move in folder.moves:
        target = f"{folder.folder}/{move.name}"
        done = store.publish(move.source, target) or _is_there(move, target, store) or _was_named(folder, move, store)
        if not done:
            raise SinkRefused(
                f"{target} should hold {move.size} bytes of {move.source}, but neither of them is there; "
                f"somebody removed files of this prefix",
                position=store.place,
            )
        reach("between-files")


def _is_there(move: Move, target: str, store: Store) -> bool:
    data = store.read(target)
    return data is not None and len(data) == move.size and xxhash.xxh3_128_hexdigest(data) == move.checksum


def _was_named(folder: FolderMoves, move: Move, store: Store) -> bool:
    """Whether the index is beyond this file: it had its name, and a reader that removes what it has read was here."""
    path, _ = folder.index
    text = store.read(path)
    return text is not None and _number(text.decode("utf-8", "replace")) >= _number(move.name)


def _number(name: str) -> int:
    found = re.match(r"CDC(\d+)", name, re.ASCII)
    return int(found[1]) if found else 0
