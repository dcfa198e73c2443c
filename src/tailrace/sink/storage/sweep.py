"""The sweep: removes staged files that no commit can need any more.

Needed are only the files of the cut whose naming is saved, and those of the cut that is being made now. Everything
else below `.tailrace/stage` is of a lower epoch or a finished cut. It must never touch a file outside `.tailrace`.
"""

from __future__ import annotations

from tailrace.sink.storage.filesystem import Store
from tailrace.sink.storage.paths import OWN
from tailrace.sink.storage.staging import STAGE, cut_folder, epoch_and_cut


def sweep_at_open(store: Store, epoch: int, kept: tuple[int, int] | None) -> int:
    """Remove what earlier epochs left but for the cut (epoch, number) whose naming is saved; how many cuts' folders.

    A folder of a higher epoch stays: whoever has that epoch is the owner.
    """
    removed = 0
    for name in store.folders(STAGE):
        found = epoch_and_cut(name)
        if found is None or (found != kept and found[0] <= epoch):
            store.remove_folder(f"{STAGE}/{name}")
            removed += 1
    store.remove_folder(f"{OWN}/tmp")
    return removed


def sweep_cut(store: Store, epoch: int, cut: int) -> None:
    """Remove all staged files of a cut that is finished or given up, also those of attempts that nobody waits for."""
    store.remove_folder(cut_folder(epoch, cut))


def sweep_finished(store: Store, epoch: int, upto_cut: int) -> None:
    """Remove what late attempts have left in the folders of cuts that finished before."""
    for name in store.folders(STAGE):
        found = epoch_and_cut(name)
        if found is not None and (found[0] < epoch or (found[0] == epoch and found[1] <= upto_cut)):
            store.remove_folder(f"{STAGE}/{name}")
