"""Members: who lives is known to all by one clock, and no two that live have one name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, insert, select, update

from tailrace.errors import AlreadyExists
from tailrace.progress.database import MetaDatabase
from tailrace.progress.tables import server
from tailrace.server.members import Members, share
from tests.progress.ledgers import CLUSTER, memory_database

LEASE = 9.0
_clock = Table("members_clock", MetaData(), Column("now", Integer))


class Town:
    """A meta database whose clock the test moves; whoever pauses moves it too, and lets others act."""

    def __init__(self, meta: MetaDatabase) -> None:
        self.meta = meta
        self.meanwhile: list[Members] = []
        with meta.writing() as connection:
            _clock.create(connection)
            connection.execute(insert(_clock).values(now=1_000))

    def go(self, seconds: float) -> None:
        with self.meta.writing() as connection:
            connection.execute(update(_clock).values(now=_clock.c.now + int(seconds * 1000)))
        for member in self.meanwhile:
            member.renew()

    def member(self, name: str, instance: str = "") -> Members:
        now = select(_clock.c.now).scalar_subquery()
        return Members(self.meta, CLUSTER, name, instance or name, LEASE, now, self.go)


def test_who_lives_is_counted_and_who_is_not_heard_of_is_not() -> None:
    with memory_database() as meta:
        town = Town(meta)
        one, two = town.member("one"), town.member("two")
        one.join()
        assert one.renew() == 1
        two.join()
        assert (one.renew(), two.renew()) == (2, 2)
        town.go(LEASE / 2)
        one.renew()
        town.go(LEASE / 2 + 1)
        assert one.renew() == 1
        assert two.renew() == 2, "it was only paused"
        two.leave()
        assert one.renew() == 1


def test_a_second_server_of_a_name_is_refused_while_the_first_lives() -> None:
    with memory_database() as meta:
        town = Town(meta)
        first = town.member("north", "a")
        first.join()
        town.meanwhile.append(first)
        with pytest.raises(AlreadyExists, match=r"north.*--name"):
            town.member("north", "b").join()
        assert first.renew() == 1


def test_the_name_of_a_server_that_died_is_free_after_its_lease() -> None:
    with memory_database() as meta:
        town = Town(meta)
        first, second = town.member("north", "a"), town.member("north", "b")
        first.join()
        second.join()
        assert second.renew() == 1
        with pytest.raises(AlreadyExists, match="took the name"):
            first.renew()


def test_a_row_that_is_gone_is_written_again() -> None:
    with memory_database() as meta:
        town = Town(meta)
        one, two = town.member("one"), town.member("two")
        one.join()
        two.join()
        with meta.writing() as connection:
            connection.execute(server.delete())
        assert (one.renew(), two.renew(), one.renew()) == (1, 2, 2)


@given(st.integers(0, 5000), st.integers(0, 20))
def test_shares_are_even_and_together_they_are_enough(carried: int, alive: int) -> None:
    each, servers = share(carried, alive), max(alive, 1)
    assert each * servers >= carried > (each - 1) * servers or carried == each == 0
