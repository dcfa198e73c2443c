"""A store of several real processes on loopback, for tests and the demo; processes can be killed and started again.

No process outlives its parent: each stops when its standard input is closed. Logs are in the folder.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tailrace.dataserver.client import StoreClient
from tailrace.errors import UpstreamAway
from tailrace.testing.environment import package_environment

START_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Store:
    """Process 0 is the master and a data server, all others are data servers. Ports stay over restarts."""

    def __init__(
        self, folder: Path, servers: int = 2, options: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._env = dict(env or {})
        self._folder, self._options = folder, tuple(options)
        self._ports = [free_port() for _ in range(servers)]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._clients: list[StoreClient] = []

    @property
    def uri(self) -> str:
        return f"dataserver://127.0.0.1:{self._ports[0]}"

    def address(self, number: int) -> str:
        return f"127.0.0.1:{self._ports[number]}"

    def pid(self, number: int) -> int:
        return self._processes[number].pid

    @property
    def numbers(self) -> range:
        return range(len(self._ports))

    def alive(self, number: int) -> bool:
        return number in self._processes and self._processes[number].poll() is None

    def start(self) -> None:
        for number in range(len(self._ports)):
            self._spawn(number)
        for number in range(len(self._ports)):
            self._await(number)

    def client(self, zone: str = "UTC") -> StoreClient:
        """A client that is closed with the store."""
        made = StoreClient(self.uri, zone)
        self._clients.append(made)
        return made

    def kill(self, number: int) -> None:
        """kill -9, and wait until it is gone."""
        process = self._processes.pop(number)
        process.kill()
        process.wait()
        _close(process)

    def pause(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGCONT)

    def resume_all(self) -> None:
        for number in self.numbers:
            if self.alive(number):
                self.resume(number)

    def restart(self, number: int) -> None:
        """Start a process that is gone, or end it well and start it again; returns when it is ready."""
        if number in self._processes:
            self._end(self._processes.pop(number))
        self._spawn(number)
        self._await(number)

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()
        for number in sorted(self._processes, reverse=True):
            self._end(self._processes.pop(number))

    def log(self, number: int) -> str:
        return self._log(number).read_text()

    def _log(self, number: int) -> Path:
        return self._folder / f"server-{number}.log"

    def _spawn(self, number: int) -> None:
        role = ["--role", "both"] if number == 0 else ["--role", "data", "--master", self.address(0)]
        command = [sys.executable, "-m", "tailrace.cli.dataserver", "start", "--parent-pipe"]
        command += ["--store", str(self._folder / f"server-{number}"), "--listen", self.address(number)]
        with self._log(number).open("ab") as log:
            log.truncate(0)
            self._processes[number] = subprocess.Popen(
                [*command, *role, *self._options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=package_environment(self._env),
            )

    def _await(self, number: int) -> None:
        limit = time.monotonic() + START_S
        while f"ready {self.address(number)}" not in self.log(number):
            if self._processes[number].poll() is not None or time.monotonic() > limit:
                raise UpstreamAway(f"data server {number} did not start:\n{self.log(number)[-2000:]}")
            time.sleep(0.02)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()
        _close(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()


@contextmanager
def start_store(
    folder: Path, servers: int = 2, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Iterator[Store]:
    """A running store in `folder`; what is there from before is found again. `env` is added to its environment."""
    store = Store(folder, servers, options, env)
    try:
        store.start()
        yield store
    finally:
        store.stop()
