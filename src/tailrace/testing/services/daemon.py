"""Starting, stopping and finding components that outlive the command that started them.

Each has a folder in the cache with `state.json` (process, port, secret; readable by its owner only) and `log`. A
process is ours only if both its number and its birth are the ones written down, so one that got the number later is
never ended. Two commands at once are kept apart by a lock; a start that fails leaves nothing running.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from tailrace.errors import SinkAway
from tailrace.pipeline.java import cache_folder
from tailrace.testing.services.component import Command, Component, Place, Tell

STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Started:
    """What `state.json` holds."""

    pid: int
    born: float
    port: int
    secret: str = field(repr=False)


def folder_of(component: Component) -> Path:
    return cache_folder() / "services" / component.name


def find(component: Component) -> Place | None:
    """Where the component runs; None where it does not."""
    state = _load(component)
    return None if state is None or _process(state) is None else _place(component, state)


def up(component: Component, tell: Tell) -> Place:
    """Start the component where it does not run yet, installing it first; returns when it answers."""
    with _alone(component):
        running = find(component)
        if running is not None and component.ready(running):
            return running
        _end(component)
        program = component.install(cache_folder() / "bin", tell)
        return _start(component, program)


def down(component: Component) -> bool:
    """Stop the component; False where it did not run."""
    with _alone(component):
        return _end(component)


def _start(component: Component, program: Path) -> Place:
    folder = folder_of(component)
    # What tests leave behind is of no use to the next start.
    shutil.rmtree(folder / "data", ignore_errors=True)
    place = Place(folder, _free_port(), secrets.token_hex(16))
    pid = _spawn(component.command(program, place), folder / "log")
    process = psutil.Process(pid)
    _save(component, Started(pid, process.create_time(), place.port, place.secret))
    deadline = time.monotonic() + component.patience
    while time.monotonic() < deadline and process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if component.ready(place):
            return place
        time.sleep(0.05)
    _end(component)
    process.wait(STOP_SECONDS)
    said = (folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
    raise SinkAway(f"{component.name} did not answer on {place.address}; its log {folder / 'log'} ends: {said}")


def _spawn(command: Command, log: Path) -> int:
    """Start a process in a session of its own, so that the end of this one's terminal does not reach it.

    It gets no descriptor of this one either: a lock or a pipe of whoever started a component would live as long."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        command.argv[0],
        command.argv,
        os.environ | dict(command.env),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            *((os.POSIX_SPAWN_CLOSE, number) for number in _inherited()),
        ],
        setsid=True,
    )


def _inherited() -> list[int]:
    """Descriptors beyond the standard ones that a child of this process would have."""
    with os.scandir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd") as entries:
        numbers = [int(entry.name) for entry in entries]
    found = []
    for number in numbers:
        # The one that the listing itself used is gone again.
        with suppress(OSError):
            if number > 2 and os.get_inheritable(number):
                found.append(number)
    return found


def _end(component: Component) -> bool:
    state = _load(component)
    process = _process(state) if state is not None else None
    if process is not None:
        # What it had started is known now and not later: psutil ends only the very process that it has seen.
        family = process.children(recursive=True)
        process.terminate()
        _, left = psutil.wait_procs([process, *family], STOP_SECONDS)
        for each in left:
            each.kill()
        psutil.wait_procs(left, STOP_SECONDS)
    (folder_of(component) / "state.json").unlink(missing_ok=True)
    return process is not None


def _process(state: Started) -> psutil.Process | None:
    try:
        process = psutil.Process(state.pid)
        ours = abs(process.create_time() - state.born) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if ours else None


def _place(component: Component, state: Started) -> Place:
    return Place(folder_of(component), state.port, state.secret)


def _load(component: Component) -> Started | None:
    try:
        return Started(**json.loads((folder_of(component) / "state.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None  # Not there, or of another version of this room: not ours to use.


def _save(component: Component, state: Started) -> None:
    path = folder_of(component) / "state.json"
    fresh = path.with_suffix(".tmp")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(state), file)
    os.replace(fresh, path)


@contextmanager
def _alone(component: Component) -> Iterator[None]:
    folder = folder_of(component)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
