"""What a nemesis does to ranges: split, merged, led by another server, while everything else goes on.

The outcome of each may stay unknown, because a server may die under it; the master's routes say what is true.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from tailrace.change.ranges import Range
from tailrace.dataserver.steering import Steering, key_bytes
from tailrace.testing import shop
from tailrace.testing.nemesis.harms import Harm, UnderWay
from tailrace.testing.nemesis.world import SCHEMA, World
from tailrace.testing.traffic import KEYS_EACH

MOST_RANGES = 8

Steer = Callable[[Steering, list[Range]], object]


def split(world: World, dice: random.Random) -> UnderWay | None:
    # Where the shop's rows are, or those of one of the writers.
    table, handle = _table(dice), dice.randrange(3) * KEYS_EACH + dice.randint(2, 900)

    def run(steering: Steering, routes: list[Range]) -> object:
        if len(routes) >= MOST_RANGES:
            return None
        wanted = world.scene.client.table(SCHEMA, table)
        return steering.split(wanted, key_bytes(wanted, str(handle)))

    return _ask(world, table, run, f"a range of {table} is split at {handle}")


def merge(world: World, dice: random.Random) -> UnderWay | None:
    table, chance = _table(dice), dice.randrange(1 << 20)

    def run(steering: Steering, routes: list[Range]) -> object:
        pairs = list(pairwise(routes))
        if not pairs:
            return None
        left, right = pairs[chance % len(pairs)]
        return steering.merge(left.id, right.id)

    return _ask(world, table, run, f"two ranges of {table} are merged")


def move(world: World, dice: random.Random) -> UnderWay | None:
    table, chance = _table(dice), dice.randrange(1 << 20)

    def run(steering: Steering, routes: list[Range]) -> object:
        servers = sorted(steering.servers())
        return steering.move(routes[chance % len(routes)].id, servers[chance % len(servers)])

    return _ask(world, table, run, f"a range of {table} gets another leader")


def _table(dice: random.Random) -> str:
    return dice.choice(sorted(shop.tables(SCHEMA)))


def _ask(world: World, table: str, run: Steer, words: str) -> UnderWay:
    client = world.scene.client

    def steer() -> object:
        steering = Steering(client, world.scene.store.address(0))
        try:
            return run(steering, client.upstream.routes(client.table(SCHEMA, table)))
        finally:
            steering.close()

    world.ask(steer)
    return UnderWay("", words, 0.0, lambda: None)


RANGES = (
    Harm("split", 3, split),
    Harm("merge", 2, merge),
    Harm("move", 3, move),
)
