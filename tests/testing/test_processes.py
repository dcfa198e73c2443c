"""Processes stop and go on by their numbers, with what they started, and one that is gone is no error."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tailrace.testing.processes import family, go_on, is_stopped, paused, stop

CODE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
"""


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def parent() -> Iterator[tuple[int, int]]:
    """A process and its child."""
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())


def test_a_family_stops_and_goes_on(parent: tuple[int, int]) -> None:
    known = family(parent[0])
    assert {process.pid for process in known} == set(parent)
    with paused(known):
        until(lambda: all(is_stopped(pid) for pid in parent))
    until(lambda: not any(is_stopped(pid) for pid in parent))


def test_one_stops_alone(parent: tuple[int, int]) -> None:
    stop(family(parent[0])[:1])
    until(lambda: is_stopped(parent[0]))
    assert not is_stopped(parent[1])
    go_on(family(parent[0]))


def test_who_is_gone_is_no_error(parent: tuple[int, int]) -> None:
    known = family(parent[0])[:1]
    known[0].kill()
    known[0].wait(10)
    stop(known)
    go_on(known)
    assert not is_stopped(parent[0])
    assert family(parent[0]) == []
