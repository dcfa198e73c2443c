"""The owner of a prefix: at most one live subscription writes below it.

`.tailrace/owner.json` names the subscription and its epoch. A live owner rewrites it every few seconds; one that has
closed says so. Whether an owner is alive is read from the store's own clock (the times of two of its files), because
two machines' clocks need not agree. A write cannot be made conditional here, so two that look in one moment may both
find a prefix free: the later mark stands, and the other one sees that before a file of its gets a name. An owner that
finds another's mark never writes over it. The fence of a subscription against its own older epochs is the ledger's,
not this file's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from tailrace.errors import AlreadyExists, Fenced
from tailrace.store.filesystem import OWN, Store

OWNER = f"{OWN}/owner.json"
LIVE_SECONDS = 60.0
_RENEW_SECONDS = 15.0
_PROBES = f"{OWN}/probe"
_PROBE = f"{_PROBES}/now"


@dataclass(frozen=True, slots=True)
class Owner:
    subscription: str
    epoch: int
    released: bool = False


def read_owner(store: Store) -> Owner | None:
    """Who the file names; a file that cannot be read names nobody who could be known again."""
    text = store.read(OWNER)
    if text is None:
        return None
    try:
        return Owner(**json.loads(text))
    except (TypeError, ValueError):
        return Owner("an owner file that cannot be read", 0)


def foreign_owner(store: Store, subscription: str) -> Owner | None:
    """The live owner that is not this subscription, if there is one. Writes a probe: it needs the right to."""
    store.replace([(_PROBE, b"")])
    now, written, owner = store.entry(_PROBE), store.entry(OWNER), read_owner(store)
    store.remove_folder(_PROBES)
    if owner is None or owner.subscription == subscription or owner.released:
        return None
    if now is None or written is None or now.modified - written.modified > LIVE_SECONDS:
        return None
    return owner


class Ownership:
    """One subscription's hold on a prefix."""

    def __init__(self, store: Store, subscription: str, epoch: int, clock: Callable[[], float]) -> None:
        self._store = store
        self._mine = Owner(subscription, epoch)
        self._clock = clock
        self._renewed = 0.0
        self._confirmed = False

    def claim(self) -> None:
        """Raises AlreadyExists where another live subscription writes, Fenced where a newer epoch of this one does."""
        other = foreign_owner(self._store, self._mine.subscription)
        if other is not None:
            raise AlreadyExists(
                f"{self._store.place} is written by the subscription {other.subscription}; each subscription needs a "
                f"prefix of its own (this one is free {LIVE_SECONDS:.0f} s after that one has ended)",
                subscription=self._mine.subscription,
            )
        self._check_epoch(read_owner(self._store))
        self._write(self._mine)

    def confirm(self) -> None:
        """To be called before files get their names: the prefix is still this owner's. Looks the first time, and when
        it has not looked for a while. Raises AlreadyExists or Fenced."""
        if not self._confirmed or self._clock() - self._renewed >= _RENEW_SECONDS:
            self._check()
            self._confirmed = True

    def renew(self) -> None:
        """Say that this owner lives; does nothing when it said so a moment ago."""
        if self._clock() - self._renewed >= _RENEW_SECONDS:
            self._check()
            self._write(self._mine)

    def release(self) -> None:
        current = read_owner(self._store)
        if current == self._mine:
            self._write(Owner(self._mine.subscription, self._mine.epoch, released=True))

    def _check(self) -> None:
        current = read_owner(self._store)
        if current is not None and current.subscription != self._mine.subscription:
            raise AlreadyExists(
                f"{self._store.place} was taken by the subscription {current.subscription} meanwhile: both found it "
                f"free in one moment, or this one was silent for {LIVE_SECONDS:.0f} s; give each a prefix of its own",
                subscription=self._mine.subscription,
            )
        self._check_epoch(current)

    def _check_epoch(self, current: Owner | None) -> None:
        if current is None or current.subscription != self._mine.subscription or current.epoch <= self._mine.epoch:
            return
        raise Fenced(
            f"{self._store.place} is written by epoch {current.epoch} now, not by {self._mine.epoch}",
            subscription=self._mine.subscription,
        )

    def _write(self, owner: Owner) -> None:
        self._store.replace([(OWNER, json.dumps(asdict(owner)).encode())])
        self._renewed = self._clock()
