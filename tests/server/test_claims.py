"""Claims: one owner at a time by a clock that all share, and an epoch that never falls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, select, update

from tailrace.errors import Fenced
from tailrace.progress import tables
from tailrace.progress.database import MetaDatabase
from tailrace.progress.ledger import Ledger
from tailrace.server.claims import Claim, Claims
from tests.progress.ledgers import CLUSTER, add_subscription, file_database, memory_database

LEASE = 9.0
_clock = Table("clock", MetaData(), Column("now", Integer))


class Clocks:
    """The meta database's clock as a table of its own, and the monotonic clock of the servers."""

    def __init__(self, meta: MetaDatabase) -> None:
        self.meta = meta
        self.seconds = 100.0
        with meta.writing() as connection:
            _clock.create(connection)
            connection.execute(insert(_clock).values(now=100_000))

    def go(self, seconds: float) -> None:
        self.seconds += seconds
        with self.meta.writing() as connection:
            connection.execute(update(_clock).values(now=_clock.c.now + int(seconds * 1000)))

    def claims(self, owner: str) -> Claims:
        now = select(_clock.c.now).scalar_subquery()
        return Claims(self.meta, CLUSTER, owner, LEASE, now, lambda: self.seconds)


def owner_of(meta: MetaDatabase, name: str) -> tuple[str, int]:
    columns = select(tables.subscription.c.owner, tables.subscription.c.epoch)
    with meta.reading() as connection:
        row = connection.execute(columns.where(tables.subscription.c.name == name)).one()
    return row[0], row[1]


def test_a_claim_is_exclusive_until_it_is_released() -> None:
    with memory_database("orders") as meta:
        clocks = Clocks(meta)
        one, two = clocks.claims("one"), clocks.claims("two")
        taken = one.claim("orders")
        assert taken is not None and taken.epoch == 2
        assert two.claim("orders") is None
        assert two.take() == []
        one.release("orders")
        assert owner_of(meta, "orders") == ("", 2)
        again = two.claim("orders")
        assert again is not None and again.epoch == 3


def test_an_expired_lease_is_taken_over_and_the_old_owner_is_fenced() -> None:
    with memory_database("orders") as meta:
        clocks = Clocks(meta)
        one, two = clocks.claims("one"), clocks.claims("two")
        first = one.claim("orders")
        assert first is not None
        clocks.go(LEASE - 0.5)
        assert two.take() == []
        clocks.go(0.5)
        assert [claim.epoch for claim in two.take()] == [first.epoch + 1]
        assert one.renew() == [first]
        assert one.held == {}
        with pytest.raises(Fenced):
            Ledger(meta, CLUSTER).seat("orders", first.epoch).check()
        one.release("orders")
        assert owner_of(meta, "orders") == ("two", first.epoch + 1)


def test_a_holder_begins_nothing_after_two_thirds_of_its_lease() -> None:
    with memory_database("orders") as meta:
        clocks = Clocks(meta)
        claims = clocks.claims("one")
        claim = claims.claim("orders")
        assert claim is not None and claim.until == clocks.seconds + LEASE * 2 / 3
        clocks.go(LEASE * 2 / 3 - 0.1)
        assert claims.overdue() == []
        clocks.go(0.1)
        assert claims.overdue() == [claim]
        assert claims.held == {}


def test_renewing_extends_what_is_held_and_nothing_else() -> None:
    with memory_database("orders", "users") as meta:
        clocks = Clocks(meta)
        claims, other = clocks.claims("one"), clocks.claims("two")
        assert claims.claim("orders") and other.claim("users")
        for _ in range(4):
            clocks.go(LEASE / 2)
            assert claims.renew() == []
            assert claims.overdue() == []
        assert [claim.subscription for claim in claims.take()] == ["users"]
        assert owner_of(meta, "orders")[0] == "one"


def test_a_holder_that_gave_up_does_not_renew_what_it_forgot() -> None:
    with memory_database("orders", "users") as meta:
        clocks = Clocks(meta)
        claims, other = clocks.claims("one"), clocks.claims("two")
        claims.claim("orders")
        clocks.go(LEASE * 0.7)
        claims.overdue()
        claims.claim("users")
        clocks.go(LEASE / 2)
        claims.renew()
        assert [claim.subscription for claim in other.take()] == ["orders"]


def test_what_was_given_up_during_a_renewal_stays_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database hangs for a whole lease in the middle of it, and then says yes."""
    with memory_database("orders") as meta:
        clocks = Clocks(meta)
        claims = clocks.claims("one")
        claim = claims.claim("orders")
        clocks.go(LEASE / 2)
        writing = meta.writing
        given_up: list[Claim] = []

        @contextmanager
        def hanging() -> Iterator[Connection]:
            with writing() as connection:
                yield connection
            clocks.seconds += LEASE
            given_up.extend(claims.overdue())

        monkeypatch.setattr(meta, "writing", hanging)
        assert claims.renew() == []
        assert given_up == [claim]
        assert claims.held == {}


@pytest.mark.parametrize("state", ["failed", "finished", "cancelled"])
def test_what_is_over_is_not_claimed(state: str) -> None:
    with memory_database("orders") as meta:
        with meta.writing() as connection:
            connection.execute(update(tables.subscription).values(state=state))
        assert Clocks(meta).claims("one").take() == []


def test_clusters_do_not_claim_each_others_subscriptions() -> None:
    with memory_database("orders") as meta:
        add_subscription(meta, "orders", cluster_id=2)
        clocks = Clocks(meta)
        assert [claim.subscription for claim in clocks.claims("one").take()] == ["orders"]
        with meta.reading() as connection:
            owners = connection.execute(select(tables.subscription.c.cluster_id, tables.subscription.c.owner)).all()
        assert sorted(tuple(row) for row in owners) == [(1, "one"), (2, "")]


def test_of_many_servers_one_gets_each_subscription(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(6)]
    with file_database(tmp_path, *names) as meta:
        found: list[str] = []

        def take(owner: str) -> None:
            found.extend(claim.subscription for claim in Claims(meta, CLUSTER, owner).take())

        threads = [threading.Thread(target=take, args=(f"server {number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == names


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["claim", "renew", "release", "overdue", "go"]), st.integers(0, 2)), max_size=30)
)
def test_never_two_that_may_begin_something(calls: list[tuple[str, int]]) -> None:
    """Whatever the order: at most one server believes that it may begin, and the epoch rises with each claim."""
    with memory_database("orders") as meta:
        clocks = Clocks(meta)
        servers = [clocks.claims(f"server {number}") for number in range(3)]
        epochs = [1]
        for call, number in calls:
            if call == "claim":
                claim = servers[number].claim("orders") if not servers[number].held else None
                epochs += [claim.epoch] if claim else []
            elif call == "release":
                servers[number].release("orders")
            elif call == "go":
                clocks.go((number + 1) * LEASE / 4)
            else:
                getattr(servers[number], call)()
            free = [c for server in servers for c in server.held.values() if clocks.seconds < c.until]
            assert len(free) <= 1
        assert epochs == sorted(set(epochs))
