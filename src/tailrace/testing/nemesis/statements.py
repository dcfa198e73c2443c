"""Statements that a nemesis runs beside the traffic: columns that come and go, tables made, filled, emptied, renamed.

The outcome of each may stay unknown, because the store's master may die under it; so what it remembers of the tables
is only a guess for the next choice.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from functools import partial

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column
from tailrace.testing import shop
from tailrace.testing.nemesis.harms import Harm, UnderWay
from tailrace.testing.nemesis.world import HANDLES, SCHEMA, Extra, World

TABLES = ("customers", "products", "orders", "items")
MOST_COLUMNS = 4
MOST_EXTRAS = 4
FILLED = 50
_KINDS = ("int", "varchar(20)", "decimal(10,2)", "datetime(3)")
_numbers = itertools.count(1)


def add_column(world: World, dice: random.Random) -> UnderWay | None:
    table = dice.choice(TABLES)
    column = Column(0, f"more{dice.randrange(MOST_COLUMNS)}", parse_type(dice.choice(_KINDS)))
    world.ask(partial(world.scene.client.add_column, SCHEMA, table, column))
    return _done(f"{table} gets the column {column.name}")


def drop_column(world: World, dice: random.Random) -> UnderWay | None:
    table, column = dice.choice(TABLES), f"more{dice.randrange(MOST_COLUMNS)}"
    world.ask(partial(world.scene.client.drop_column, SCHEMA, table, column))
    return _done(f"{table} loses the column {column}")


def truncate(world: World, dice: random.Random) -> UnderWay | None:
    table = dice.choice(TABLES)
    world.ask(partial(world.scene.client.truncate_table, SCHEMA, table))
    return _done(f"{table} is truncated")


def create_table(world: World, dice: random.Random) -> UnderWay | None:
    if len(world.extras) >= MOST_EXTRAS:
        return None
    name, client = f"extra{next(_numbers)}", world.scene.client
    definition = replace(shop.tables(SCHEMA)["orders"], name=name)
    ranges = dice.randint(1, 3)

    def make_and_fill() -> object:
        table = client.create_table(definition, ranges=ranges, handles=HANDLES)
        return client.bulk_insert(table, shop.image(table, FILLED))

    world.ask(make_and_fill)
    world.extras.append(Extra(name))
    return _done(f"{name} is made and filled")


def drop_table(world: World, dice: random.Random) -> UnderWay | None:
    if not world.extras:
        return None
    extra = world.extras.pop(dice.randrange(len(world.extras)))
    world.ask(partial(world.scene.client.drop_table, SCHEMA, extra.name))
    return _done(f"{extra.name} is dropped")


def rename_table(world: World, dice: random.Random) -> UnderWay | None:
    if not world.extras:
        return None
    extra = dice.choice(world.extras)
    old, extra.name = extra.name, f"extra{next(_numbers)}"
    world.ask(partial(world.scene.client.rename_table, SCHEMA, old, SCHEMA, extra.name))
    return _done(f"{old} becomes {extra.name}")


def _done(words: str) -> UnderWay:
    return UnderWay("", words, 0.0, lambda: None)


STATEMENTS = (
    Harm("add column", 2, add_column),
    Harm("drop column", 1, drop_column),
    Harm("truncate", 1, truncate),
    Harm("create table", 2, create_table),
    Harm("drop table", 1, drop_table),
    Harm("rename table", 2, rename_table),
)
