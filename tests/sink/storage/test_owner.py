"""One live subscription a prefix; whether an owner lives is read from the store's clock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailrace.errors import AlreadyExists, Fenced
from tailrace.sink.storage.owner import LIVE_SECONDS, OWNER, Owner, Ownership, foreign_owner, read_owner
from tailrace.store.local import LocalStore


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(str(tmp_path))


def age(root: Path, seconds: float) -> None:
    entry = os.stat(root / OWNER)
    os.utime(root / OWNER, (entry.st_atime, entry.st_mtime - seconds))


def test_a_live_owner_keeps_others_out_and_a_dead_one_does_not(store: LocalStore, tmp_path: Path) -> None:
    Ownership(store, "a", 1, Clock()).claim()
    with pytest.raises(AlreadyExists, match="subscription a"):
        Ownership(store, "b", 1, Clock()).claim()
    age(tmp_path, LIVE_SECONDS + 1)
    Ownership(store, "b", 1, Clock()).claim()
    assert read_owner(store) == Owner("b", 1)
    assert sorted(path.name for path in (tmp_path / ".tailrace").iterdir()) == ["owner.json", "tmp"]


def test_the_own_subscription_takes_over_at_once_and_never_backwards(store: LocalStore) -> None:
    first, second = Ownership(store, "a", 1, Clock()), Ownership(store, "a", 2, Clock())
    first.claim()
    second.claim()
    with pytest.raises(Fenced, match="epoch 2"):
        first.claim()


def test_renewing_keeps_alive_and_notices_a_successor(store: LocalStore, tmp_path: Path) -> None:
    clock = Clock()
    owner = Ownership(store, "a", 1, clock)
    owner.claim()
    age(tmp_path, LIVE_SECONDS + 1)
    owner.renew()
    assert foreign_owner(store, "b") is None
    clock.now += 20
    owner.renew()
    assert foreign_owner(store, "b") == Owner("a", 1)
    Ownership(store, "a", 2, clock).claim()
    clock.now += 20
    with pytest.raises(Fenced):
        owner.renew()


def both_at_once(store: LocalStore) -> tuple[Ownership, Ownership]:
    """Two subscriptions that found the prefix free in one moment; the second one's mark stands."""
    one, two = Ownership(store, "a", 1, Clock()), Ownership(store, "b", 1, Clock())
    one.claim()
    store.remove(OWNER)
    two.claim()
    return one, two


def test_of_two_that_found_it_free_in_one_moment_one_goes_on(store: LocalStore) -> None:
    one, two = both_at_once(store)
    with pytest.raises(AlreadyExists, match="taken by the subscription b"):
        one.confirm()
    two.confirm()
    assert read_owner(store) == Owner("b", 1)


def test_an_owner_that_was_replaced_while_it_was_silent_writes_over_nobody(store: LocalStore, tmp_path: Path) -> None:
    clock = Clock()
    slow = Ownership(store, "a", 1, clock)
    slow.claim()
    slow.confirm()
    age(tmp_path, LIVE_SECONDS + 1)
    Ownership(store, "b", 1, Clock()).claim()
    slow.confirm()  # it has looked a moment ago
    clock.now += 61
    for act in (slow.confirm, slow.renew):
        with pytest.raises(AlreadyExists, match="subscription b"):
            act()
    slow.release()
    assert read_owner(store) == Owner("b", 1)


def test_a_released_prefix_is_free_and_only_the_owner_releases_it(store: LocalStore) -> None:
    old, new = Ownership(store, "a", 1, Clock()), Ownership(store, "a", 2, Clock())
    old.claim()
    new.claim()
    old.release()
    assert read_owner(store) == Owner("a", 2)
    new.release()
    assert foreign_owner(store, "b") is None


def test_a_file_that_cannot_be_read_is_somebody_elses(store: LocalStore) -> None:
    store.replace([(OWNER, b"{")])
    assert foreign_owner(store, "a") is not None
