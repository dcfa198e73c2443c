"""The driver's half of the storage sink: naming, committing, recovering, under one seat.

Invariants:

* a final name is given only by `carry_out`, and only for a naming that the ledger holds;
* no naming is saved before the owner's mark was seen to be this subscription's;
* where it is not known whether a naming was saved, the ledger is asked before anything is numbered;
* numbers are counted in memory only from what was carried out, and looked up anew whenever a commit broke off.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.observe.failpoints import reach
from tailrace.progress.cut import Cut, Receipt
from tailrace.sink.base import Seat
from tailrace.sink.storage.cleanup import Cleanup
from tailrace.sink.storage.commit import carry_out, check_staged
from tailrace.sink.storage.metadata import Unfenced
from tailrace.sink.storage.naming import Naming
from tailrace.sink.storage.numbering import Numbers, numbered
from tailrace.sink.storage.owner import Ownership
from tailrace.sink.storage.schema_files import Needed, SchemaFiles
from tailrace.sink.storage.settings import Settings
from tailrace.sink.storage.staging import StagedFile, cut_folder, from_payload
from tailrace.sink.storage.sweep import sweep_at_open, sweep_finished
from tailrace.store.filesystem import Store

_SWEEP_EVERY_CUTS = 256


class Driver:
    def __init__(self, subscription: str, settings: Settings, store: Store, seat: Seat) -> None:
        seat.check()
        self._settings = settings
        self._store = store
        self._seat = seat
        self._owner = Ownership(store, subscription, seat.epoch, time.monotonic)
        self._owner.claim()
        reach("owner-claimed")
        saved = seat.load_naming()
        sweep_at_open(store, seat.epoch, Naming.from_json(saved[1]).stages if saved else ())
        self._unfenced = Unfenced(store, time.monotonic)
        self._numbers = Numbers(store, settings.layout)
        self._schemas = SchemaFiles(store, settings, seat.table_schema)
        zone, when = settings.layout.zone, settings.cleanup
        self._cleanup = Cleanup(store, settings.layout, settings.expiration_days, when, lambda: datetime.now(zone))
        self._unsure = saved is not None
        self._cuts = 0

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        self._seat.check()
        if self._unsure and self._replayed(cut):
            return
        files = _in_order(receipts)
        if not files:
            self._store.remove_folder(cut_folder(cut.epoch, cut.number))
            return
        self._owner.confirm()
        check_staged(self._store, cut_folder(cut.epoch, cut.number), files)
        self._store.settle()
        needed = self._schemas.needed(files)
        naming = self._name(files, needed)
        reach("before-naming")
        self._unsure = True
        self._seat.save_naming(cut, naming.to_json())
        reach("after-naming")
        self._finish(cut, naming)
        self._schemas.settled(needed)

    def recover(self, cut: Cut, naming: str) -> None:
        self._finish(cut, Naming.from_json(naming))

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        self._seat.check()
        self._store.replace(file for event in events for file in self._schemas.of_event(event))
        self._store.settle()

    def advance(self, to_ts: Ts) -> None:
        self._seat.check()
        self._owner.renew()
        self._unfenced.look_again()
        reach("before-metadata")
        self._unfenced.advance(to_ts)
        self._cleanup.tick(self._unfenced.advanced)

    def abort(self, cut: Cut) -> None:
        """Give the staged files of a cut up, unless its naming is saved: then they are what will be carried out."""
        saved = self._seat.load_naming()
        if saved is None or saved[0].number != cut.number:
            self._store.remove_folder(cut_folder(cut.epoch, cut.number))

    def close(self) -> None:
        self._cleanup.close()
        self._owner.release()

    def _name(self, files: Sequence[StagedFile], needed: Needed) -> Naming:
        layout = self._settings.layout

        def folder_of(file: StagedFile) -> str:
            version = needed.versions[file.schema, file.table, file.version]
            return layout.folder(file.schema, file.table, version, file.partition_id, file.date)

        return Naming(needed.files, numbered(files, folder_of, self._numbers, layout))

    def _replayed(self, cut: Cut) -> bool:
        """Whether the ledger holds the naming of this cut already, which was then carried out instead."""
        self._numbers.forget()
        self._schemas.forget()
        saved = self._seat.load_naming()
        if saved is None or saved[0].number != cut.number:
            return False
        self.recover(cut, saved[1])
        return True

    def _finish(self, cut: Cut, naming: Naming) -> None:
        carry_out(naming, self._store, self._unfenced)
        for folder in naming.folders:
            self._numbers.taken(folder.folder, folder.last_number)
        # A cut that is recovered was staged in another epoch; its pieces may have been staged in this one as well.
        for stage in {*naming.stages, cut_folder(cut.epoch, cut.number)}:
            self._store.remove_folder(stage)
        self._unsure = False
        self._owner.renew()
        self._cuts += 1
        if self._cuts % _SWEEP_EVERY_CUTS == 0:
            sweep_finished(self._store, self._seat.epoch, cut.number)


def _in_order(receipts: Sequence[Receipt]) -> list[StagedFile]:
    """The files in the order of their pieces. A piece that two attempts finished counts once; the other is swept."""
    pieces = {receipt.piece: receipt for receipt in reversed(receipts)}
    return [file for number in sorted(pieces) for file in from_payload(pieces[number].payload)]
