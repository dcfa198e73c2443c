"""The harms that a nemesis knows, each with its weight.

A harm begins at once and ends after a while; what it did to whom is said in words, for the journal. The dice decide
everything, so the same seed gives the same harms in the same order; when each of them meets the processes is up to
the machine.
"""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from tailrace.observe.failpoints import FAILPOINTS
from tailrace.testing.nemesis.world import World
from tailrace.testing.processes import family, go_on, stop
from tailrace.testing.server_process import ServerProcess

HOUR_MS = 3_600_000
# A worker that sleeps longer than this holds up its whole job.
LONGEST_HANG_S = 8.0
MOST_COPIES = 3
_SINK_POINTS = ("stage-file", "piece-closed", "after-naming", "between-files", "before-index", "before-metadata")
_DRIVER_POINTS = tuple(name for name in FAILPOINTS if not name.startswith("store-"))


@dataclass(slots=True, eq=False)
class UnderWay:
    """A harm that has begun: whom it holds (nobody else may harm him), what it is, when and how it ends."""

    victim: str
    words: str
    seconds: float
    end: Callable[[], object]


Begin = Callable[[World, random.Random], UnderWay | None]


@dataclass(frozen=True, slots=True)
class Harm:
    name: str
    weight: int
    begin: Begin


def _nothing() -> None:
    pass


def _server(world: World, dice: random.Random) -> tuple[str, ServerProcess]:
    number = dice.randrange(len(world.scene.servers))
    return f"server {number}", world.scene.servers[number]


def kill_store(world: World, dice: random.Random) -> UnderWay | None:
    number = dice.choice(world.scene.store.numbers)
    seconds = dice.uniform(0.2, 4)
    if not world.scene.store.alive(number):
        return None
    world.scene.store.kill(number)
    return UnderWay("store", f"data server {number} is dead", seconds, lambda: world.scene.store.restart(number))


def stop_store(world: World, dice: random.Random) -> UnderWay | None:
    number = dice.choice(world.scene.store.numbers)
    seconds = dice.uniform(0.2, 7)
    if not world.scene.store.alive(number):
        return None
    world.scene.store.pause(number)
    return UnderWay("store", f"data server {number} is stopped", seconds, world.scene.store.resume_all)


def kill_server(world: World, dice: random.Random) -> UnderWay | None:
    (name, server), alone, seconds = _server(world, dice), dice.random() < 0.5, dice.uniform(0.2, 6)
    if not server.alive:
        return None
    if alone:
        psutil.Process(server.pid).kill()
        server.wait(10)
    else:
        server.kill()
    words = f"{name} is dead{', its workers are left' if alone else ' with all its workers'}"
    return UnderWay(name, words, seconds, world.scene.revive)


def stop_server(world: World, dice: random.Random) -> UnderWay | None:
    (name, server), whole, seconds = _server(world, dice), dice.random() < 0.5, dice.uniform(0.5, 9)
    if not server.alive:
        return None
    server.pause(workers=whole)
    world.scene.silent.add(server)

    def end() -> None:
        server.resume()
        world.scene.silent.discard(server)

    return UnderWay(name, f"{name} is stopped{' with all its workers' if whole else ' alone'}", seconds, end)


def _workers(server: ServerProcess) -> list[psutil.Process]:
    """The Python processes that work for a server's Spark, the daemon that forks them first."""
    return [each for each in family(server.pid)[1:] if "java" not in each.name()] if server.alive else []


def kill_worker(world: World, dice: random.Random) -> UnderWay | None:
    name, server = _server(world, dice)
    workers = _workers(server)
    if not workers:
        return None
    worker = dice.choice(workers)
    worker.kill()
    return UnderWay("worker", f"worker {worker.pid} of {name} is dead", 0.0, _nothing)


def stop_worker(world: World, dice: random.Random) -> UnderWay | None:
    name, server = _server(world, dice)
    workers, seconds = _workers(server), dice.uniform(0.5, 5)
    if not workers:
        return None
    chosen = dice.choice(workers)
    stop([chosen])
    return UnderWay("worker", f"worker {chosen.pid} of {name} is stopped", seconds, lambda: go_on([chosen]))


def fail_sink(world: World, dice: random.Random) -> UnderWay | None:
    point, turn = dice.choice(_SINK_POINTS), dice.randint(1, 3)
    return _armed(world, f"{point}=raise@{turn}", dice.uniform(3, 8))


def hang_sink(world: World, dice: random.Random) -> UnderWay | None:
    point = dice.choice(_SINK_POINTS)
    return _armed(world, f"{point}=sleep:{dice.uniform(1, LONGEST_HANG_S):.1f}", dice.uniform(3, 8))


def kill_at_point(world: World, dice: random.Random) -> UnderWay | None:
    return _armed(world, f"{dice.choice(_DRIVER_POINTS)}=kill@{dice.randint(1, 3)}", dice.uniform(3, 8))


def _armed(world: World, plan: str, seconds: float) -> UnderWay:
    world.scene.arm(plan)

    def end() -> None:
        world.scene.arm("")
        world.scene.revive()

    # Whoever comes to the point may die of it, so no other server may be harmed meanwhile.
    return UnderWay("point", plan, seconds, end)


def lock_meta(world: World, dice: random.Random) -> UnderWay | None:
    """Somebody else writes to the meta database and takes his time."""
    connection = sqlite3.connect(world.scene.meta, timeout=2, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        connection.close()
        return None
    # Whatever else ends meanwhile may wait for this lock, so it is let go by a clock of its own.
    timer = threading.Timer(dice.uniform(0.5, 15), connection.close)
    timer.start()
    return UnderWay("meta", "the meta database is locked", timer.interval, timer.join)


def jump_clock(world: World, dice: random.Random) -> UnderWay | None:
    """Leases follow the clock both ways, timestamps only forwards: hours ahead, seconds back."""
    jump = dice.choice((dice.randint(1, 20_000), dice.randint(1, 3) * HOUR_MS, -dice.randint(1, 5_000)))
    world.jump(world.jump_ms + jump)
    return UnderWay("clock", f"clocks jump by {jump / 1000:.1f} s", 0.0, _nothing)


def new_copy(world: World, dice: random.Random) -> UnderWay | None:
    if len(world.copies) >= MOST_COPIES:
        return None
    copy = world.open_copy()
    return UnderWay("copies", f"{copy.name} begins", 0.0, _nothing)


HARMS = (
    Harm("kill data server", 3, kill_store),
    Harm("stop data server", 3, stop_store),
    Harm("kill server", 3, kill_server),
    Harm("stop server", 4, stop_server),
    Harm("kill worker", 3, kill_worker),
    Harm("stop worker", 3, stop_worker),
    Harm("sink fails", 3, fail_sink),
    Harm("sink hangs", 3, hang_sink),
    Harm("kill at a point", 4, kill_at_point),
    Harm("clock jumps", 2, jump_clock),
    Harm("meta database locked", 2, lock_meta),
    Harm("new subscription", 2, new_copy),
)
