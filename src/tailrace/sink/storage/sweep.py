"""The sweep: removes staged files that no commit can need any more.

Needed are only the files of the cut whose naming is saved, and those of the cut that is being made now. Everything
else below `.tailrace/stage` is of a lower epoch or a finished cut. It must never touch a file outside `.tailrace`.
"""

from __future__ import annotations

from collections.abc import Collection

from tailrace.sink.storage.staging import STAGE, epoch_and_cut
from tailrace.store.filesystem import OWN, Store


def sweep_at_open(store: Store, epoch: int, kept: Collection[str]) -> int:
    """Remove what earlier epochs left, but for the folders of the naming that is saved; how many cuts' folders.

    A folder of a higher epoch stays: whoever has that epoch is the owner.
    """
    removed = 0
    for name in store.folders(STAGE):
        found = epoch_and_cut(name)
        if f"{STAGE}/{name}" not in kept and (found is None or found[0] <= epoch):
            store.remove_folder(f"{STAGE}/{name}")
            removed += 1
    store.remove_folder(f"{OWN}/tmp")
    return removed


def sweep_finished(store: Store, epoch: int, upto_cut: int) -> None:
    """Remove what late attempts have left in the folders of cuts that finished before."""
    for name in store.folders(STAGE):
        found = epoch_and_cut(name)
        if found is not None and (found[0] < epoch or (found[0] == epoch and found[1] <= upto_cut)):
            store.remove_folder(f"{STAGE}/{name}")
