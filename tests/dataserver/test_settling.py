"""What became of ranges is told once, whatever died in between, and one that cannot be told holds up no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tailrace.dataserver.settling import Settling
from tailrace.errors import NotFound, StaleRoute


@dataclass
class World:
    """A data server's ranges as settling sees them: id -> heirs; `known` is what the master knows of ranges."""

    ranges: dict[int, tuple[int, ...]]
    known: dict[int, bool]
    told: list[tuple[list[int], list[int]]] = field(default_factory=list)
    settled: list[int] = field(default_factory=list)
    away: bool = False

    def __post_init__(self) -> None:
        self.wal = SimpleNamespace(sealed=False)

    def leaders(self) -> list[Any]:
        return [self.leader(each) for each in self.ranges]

    def leader(self, range_id: int) -> Any:
        if range_id not in self.ranges:
            raise StaleRoute(f"range {range_id} is not led here")
        heirs = self.ranges[range_id]
        settled = range_id in self.settled
        meta = SimpleNamespace(range_id=range_id, heirs=heirs, settled=settled, yielded=False, start=b"", end=b"")
        return SimpleNamespace(meta=meta)

    def tell(self, parents: Any, heirs: Any) -> None:
        if self.away and parents[0].range_id == 1:
            raise StaleRoute("the master does not want to hear of 1")
        self.told.append(([each.range_id for each in parents], [each.range_id for each in heirs]))

    def is_mine(self, range_id: int) -> bool:
        if range_id not in self.known:
            raise NotFound(f"there is no range {range_id}")
        return self.known[range_id]

    def once(self) -> None:
        changeover: Any = SimpleNamespace(settled=lambda leader: self.settled.append(leader.meta.range_id))
        node: Any = self
        Settling(node, changeover, self.tell, self.is_mine, lambda: None).once()


def test_heirs_that_are_here_are_told() -> None:
    world = World({1: (2, 3), 2: (), 3: ()}, {})
    world.once()
    assert (world.told, world.settled) == ([([1], [2, 3])], [1])
    world.once()
    assert len(world.told) == 1


def test_an_heir_that_got_another_leader_since_was_told_before() -> None:
    world = World({1: (2, 3), 3: ()}, {2: False, 3: True})
    world.once()
    assert (world.told, world.settled) == ([], [1])


def test_an_heir_that_the_master_does_not_know_is_waited_for() -> None:
    world = World({1: (2, 3), 3: ()}, {})
    world.once()
    assert (world.told, world.settled) == ([], [])
    world.ranges[2] = ()
    world.once()
    assert world.settled == [1]


def test_one_that_cannot_be_told_holds_up_no_other() -> None:
    world = World({1: (2, 3), 2: (), 3: (), 4: (5, 6), 5: (), 6: ()}, {}, away=True)
    world.once()
    assert (world.told, world.settled) == ([([4], [5, 6])], [4])
