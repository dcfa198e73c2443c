"""Versions: reads at any kept ts give exactly what a plain dictionary would, merged or not."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tailrace.dataserver import blocks
from tailrace.dataserver.keys import bound
from tailrace.dataserver.meta import Database
from tailrace.dataserver.rows import sort_keys
from tailrace.dataserver.versions import Run, Versions
from tests.dataserver.stores import END, START, key

State = dict[int, bytes]


class Model:
    """Versions beside a dictionary of every state that ever was."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder, fsync=False)
        self.versions = Versions(self.database.env, self.database.rows, 1, START, False)
        self.states: dict[int, State] = {0: {}}
        self.serial = itertools.count(1)
        self.ts = 0

    def write(self, changes: dict[int, bytes | None]) -> None:
        self.ts += 1
        handles = sorted(changes)
        keys = pa.array([key(handle) for handle in handles])
        values = pa.array([changes[handle] for handle in handles], pa.binary())
        ts = np.full(len(handles), self.ts, np.int64)
        self.versions.add(Run(sort_keys(keys, False), ts, lambda: (keys, values), self.ts, 1))
        state = self.states[self.ts - 1] | {handle: value for handle, value in changes.items() if value is not None}
        gone = {handle for handle, value in changes.items() if value is None}
        self.states[self.ts] = {handle: value for handle, value in state.items() if handle not in gone}

    def merge(self, safe_ts: int) -> int:
        def note(txn: Any, ids: frozenset[int]) -> None:
            """Nothing has to be remembered here."""

        return self.versions.merge(safe_ts, self.serial, note)

    def read(self, at: int, after: int | None = None, end: int | None = None, limit: int = 1 << 20) -> State:
        first = START if after is None else key(after)
        end_key = b"" if end is None else key(end)
        pieces = self.versions.read(
            at,
            bound(first, START, False, after is not None),
            bound(end_key or END, START, False),
            end_key,
            first,
            limit,
        )
        found: list[tuple[bytes, bytes]] = []
        for piece in pieces:
            cells = piece.cells or blocks.cells_of(pa.py_buffer(piece.stored), False)
            found += zip(cells.key.to_pylist(), cells.value.to_pylist(), strict=True)
            assert piece.last_key == found[-1][0] and piece.rows == len(cells)
        assert [name for name, _ in found] == sorted({name for name, _ in found})
        return {int.from_bytes(name[-8:], "big") - (1 << 63): value for name, value in found}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 16)
    monkeypatch.setattr("tailrace.dataserver.versions.SPAN_ROWS", 12)
    monkeypatch.setattr("tailrace.dataserver.versions.MERGE_ROWS", 60)
    return Model(tmp_path)


def random_changes(dice: random.Random, state: State) -> dict[int, bytes | None]:
    handles = dice.sample(range(-60, 120), dice.randint(1, 20))
    return {
        handle: None if handle in state and dice.random() < 0.4 else b"%d-%d" % (handle, dice.randint(0, 999))
        for handle in handles
    }


@pytest.mark.parametrize("seed", range(3))
def test_reads_are_those_of_a_dictionary(model: Model, seed: int) -> None:
    dice = random.Random(seed)
    safe = 0
    for _ in range(40):
        model.write(random_changes(dice, model.states[model.ts]))
        if dice.random() < 0.5:
            safe = max(safe, model.ts - dice.randint(0, 12))
            model.merge(safe)
        at = dice.randint(safe, model.ts)
        assert model.read(at) == model.states[at]
        low, high = sorted(dice.sample(range(-60, 121), 2))
        inside = {handle: value for handle, value in model.states[at].items() if low < handle < high}
        assert model.read(at, low, high) == inside
        limit = dice.randint(1, 30)
        assert model.read(at, low, high, limit) == {handle: inside[handle] for handle in sorted(inside)[:limit]}


@pytest.mark.parametrize("seed", range(3))
def test_lookups_find_the_newest_version_of_every_key(model: Model, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        model.write(random_changes(dice, model.states[model.ts]))
        if dice.random() < 0.3:
            model.merge(model.ts)
        handles = sorted(dice.sample(range(-70, 130), 30))
        keys = pa.array([key(handle) for handle in handles])
        found = model.versions.lookup(sort_keys(keys, False), keys)
        assert found.value.to_pylist() == [model.states[model.ts].get(handle) for handle in handles]


def test_small_runs_are_gathered_and_still_read_right(model: Model) -> None:
    for at in range(300):
        model.write({at % 7: b"%d" % at})
    assert len(model.versions._fresh) < 70
    assert model.read(150) == model.states[150]
    assert model.read(300) == model.states[300]


def test_what_no_read_can_see_is_dropped(model: Model) -> None:
    for at in range(20):
        model.write({1: b"%d" % at})
    model.write({1: None})
    while model.merge(model.ts):
        pass
    with model.database.env.begin(db=model.database.rows, buffers=True) as txn:
        assert blocks.RangeBlocks(txn, 1).firsts() == []
    assert model.read(model.ts) == {}


def test_a_run_that_is_merged_again_after_a_crash_changes_nothing(model: Model) -> None:
    model.write({1: b"a", 2: b"b"})
    run = model.versions._runs()[0]
    model.merge(0)
    model.versions.add(run)
    model.merge(0)
    assert model.read(1) == {1: b"a", 2: b"b"}
