"""The storm: harms and calm in turn, readers looking all along, every table compared in each calm.

In a calm nothing is harmed and nothing is written: every subscription must then catch up, and what its readers add up
to must be equal to the source. So what a storm broke is found within a minute, and not at the end of the day.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from tailrace.testing.nemesis.harms import HARMS, UnderWay
from tailrace.testing.nemesis.ranges import RANGES
from tailrace.testing.nemesis.statements import STATEMENTS
from tailrace.testing.nemesis.world import Copy, World
from tailrace.testing.validators import Finding

STORM_S = 25.0
AT_ONCE = 2
GAP_S = (0.2, 2.5)
TICK_S = 0.2
_ALL = (*HARMS, *STATEMENTS, *RANGES)


class Found(Exception):
    """What no reader should ever see was seen."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = findings


class Storm:
    """`tick` is called often; `say` takes lines for the journal."""

    def __init__(self, world: World, dice: random.Random, say: Callable[[str], None], tick: Callable[[], None]) -> None:
        self._world, self._dice, self._say, self._tick = world, dice, say, tick
        self._under_way: dict[UnderWay, float] = {}
        self.harms: Counter[str] = Counter()
        self.calms = 0

    def run(self, seconds: float) -> None:
        """Raises Found, or what the world could not get over."""
        end = time.monotonic() + seconds
        self._world.open_copy()
        self._world.open_copy()
        while time.monotonic() < end:
            self._blow(min(STORM_S, max(end - time.monotonic(), 5.0)))
            self._calm()
            if self._dice.random() < 0.5:
                self._world.close_copy(self._dice.choice(self._world.copies))
            if not self._world.copies:
                self._world.open_copy()

    def _blow(self, seconds: float) -> None:
        end, next_harm = time.monotonic() + seconds, 0.0
        while (now := time.monotonic()) < end:
            self._end([each for each, until in self._under_way.items() if until <= now])
            if len(self._under_way) < AT_ONCE and now >= next_harm:
                self._begin()
                next_harm = now + self._dice.uniform(*GAP_S)
            self._look()
            time.sleep(TICK_S)
        self._end(list(self._under_way))

    def _begin(self) -> None:
        harm = self._dice.choices(_ALL, [each.weight for each in _ALL])[0]
        busy = {each.victim for each in self._under_way}
        # A point can take anybody, so it never acts beside another harm that takes a process away.
        if harm in HARMS and "point" in busy and harm.name != "new subscription":
            return
        began = harm.begin(self._world, self._dice)
        if began is None:
            return
        if began.victim and began.victim in busy:
            self._say(f"{began.words}, on top of another")
        self.harms[harm.name] += 1
        self._say(began.words + (f" for {began.seconds:.1f} s" if began.seconds else ""))
        if began.seconds:
            self._under_way[began] = time.monotonic() + began.seconds

    def _end(self, over: list[UnderWay]) -> None:
        for each in over:
            each.end()
            del self._under_way[each]
            self._say(f"over: {each.words}")

    def _look(self) -> None:
        self._tick()
        findings = self._world.look()
        if findings:
            raise Found(findings)

    def _calm(self) -> None:
        """Everybody lives, nobody writes; then all copies are equal to the source."""
        world = self._world
        world.scene.arm("")
        world.scene.revive()
        world.settle()
        world.traffic.hold(True)
        end = world.scene.now()
        for copy in list(world.copies):
            self._await(copy, end)
        # A transaction that was on its way when the traffic was held may have come after `end`.
        end = world.scene.now()
        for copy in list(world.copies):
            self._await(copy, end)
        source = world.source()
        findings = [found for copy in world.copies for found in self._differences(copy, source)]
        if findings:
            raise Found(findings)
        world.traffic.hold(False)
        self.calms += 1
        self._say(f"calm: {len(world.copies)} copies of {len(source)} tables are equal to the source")

    def _await(self, copy: Copy, end: int) -> None:
        def there() -> bool:
            self._look()
            return self._world.scene.reached(copy.name, end) and copy.watch.checkpoint >= end

        self._world.scene.until(there, f"{copy.name} does not come to {end}; it is at {copy.watch.checkpoint}")

    def _differences(self, copy: Copy, source: Mapping[str, pa.Table]) -> Iterator[Finding]:
        for name, rows in source.items():
            yield from copy.watch.differences(name, rows)
        for name in copy.watch.tables:
            if name not in source:
                yield Finding("fingerprint", f"{copy.name} {name}", "the source has no such table any more")
