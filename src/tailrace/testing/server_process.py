"""A `tailrace server` as a process of its own, for the demo and for tests that kill it.

The process ends with its parent, which holds its standard input. Its log lies beside its meta
database. `start` after `kill` is a restart of the same server on the same meta database and port.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tailrace.errors import MetaAway
from tailrace.server.grpc.client import Client
from tailrace.testing.environment import package_environment
from tailrace.testing.processes import family, go_on, stop

START_SECONDS = 60.0
_METRICS = re.compile(r"metrics on (http://127\.0\.0\.1:\d+)/metrics")


class ServerProcess:
    """`with ServerProcess(folder) as server: server.client()...`.

    `env` is added to the environment, at each start that is not given another.
    """

    def __init__(self, folder: Path, *options: str, env: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._options = options
        self._env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise MetaAway("the server was not started")
        return self._process.pid

    @property
    def log(self) -> Path:
        return self._folder / "server.log"

    @property
    def http(self) -> str:
        """Where it shows what it carries, with `--http` among its options."""
        found: list[str] = _METRICS.findall(self.log.read_text())
        return found[-1]

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, env: Mapping[str, str] | None = None) -> None:
        """Returns once it answers; Spark is still starting then."""
        self._signal(signal.SIGKILL)
        self._folder.mkdir(parents=True, exist_ok=True)
        port_file = self._folder / "server.port"
        port_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tailrace", "server", "--log-format", "text", "--parent-pipe"]
        command += ["--meta", f"sqlite:///{self._folder}/meta.db", "--listen", f"127.0.0.1:{self._port}"]
        command += ["--port-file", str(port_file), *self._options]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=package_environment(self._env if env is None else env),
                start_new_session=True,
            )
        end = time.monotonic() + START_SECONDS
        while not (port_file.exists() and port_file.read_text()):
            if not self.alive or time.monotonic() > end:
                raise MetaAway(f"the server did not start; its log is {self.log}: {self.last_words()}")
            time.sleep(0.05)
        self._port = int(port_file.read_text())

    def client(self) -> Client:
        return Client(self.address)

    def wait(self, seconds: float) -> bool:
        """Whether the process ended by itself within the time."""
        try:
            assert self._process is not None
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL to the server and everything that it started: the machine is gone."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM to the server, and after a while no more patience."""
        if self._process is not None and self.alive:
            self._process.terminate()
            self.wait(START_SECONDS)
        self._signal(signal.SIGKILL)

    def pause(self, *, workers: bool) -> None:
        """SIGSTOP to the server, with `workers` to everything that it started too: the JVM and the Python workers."""
        if self.alive:
            stop(family(self.pid) if workers else family(self.pid)[:1])

    def resume_workers(self) -> None:
        """SIGCONT to everything that the server started, and not to itself."""
        if self.alive:
            go_on(family(self.pid)[1:])

    def resume(self) -> None:
        """SIGCONT to the server and everything that it started."""
        if self.alive:
            go_on(family(self.pid))

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(lines[-3:])

    def _signal(self, number: int) -> None:
        """To what is left of the last start; then it is reaped."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
