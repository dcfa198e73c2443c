"""A scene: a store of two processes, two servers on one meta database, and one plan of failpoints for all of them.

Everything lives from one fault to the next: what died is started again, what was stopped goes on, and whoever carries
a subscription meanwhile is the servers' own matter. The plan is a file that all processes look into, so a point is
armed while they run; it acts once, in whichever process comes first, and that process is found by its mark.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.errors import MetaAway, NotFound, TailraceError, Terminal, Transient
from tailrace.observe.failpoints import FOLDER, VARIABLE
from tailrace.server.grpc.client import Client
from tailrace.server.subscriptions import Status
from tailrace.testing.cluster import Store
from tailrace.testing.processes import family
from tailrace.testing.server_process import ServerProcess

PATIENCE_S = 90.0
LOOK_EVERY_S = 0.1

Answer = TypeVar("Answer")


class Scene:
    """`with Scene(folder) as scene: ...`. `options` go to both servers, `env` to all processes."""

    def __init__(
        self,
        folder: Path,
        options: Sequence[str] = (),
        lease: float = 2.0,
        servers: int = 2,
        env: dict[str, str] | None = None,
    ) -> None:
        self._plan, self._marks = folder / "plan", folder / "marks"
        self._marks.mkdir(parents=True, exist_ok=True)
        env = {VARIABLE: f"@{self._plan}", FOLDER: str(self._marks)} | (env or {})
        self.store = Store(folder / "store", 2, ("--no-fsync",), env)
        self.meta = folder / "meta.db"
        told = ("--meta", f"sqlite:///{self.meta}", "--lease", f"{lease:g}", *options)
        self.servers = [ServerProcess(folder / f"server-{number}", *told, env=env) for number in range(servers)]
        self.silent: set[ServerProcess] = set()
        self._opened = ExitStack()
        self._reviving = threading.Lock()
        # One for each thread that asks: who closes a connection that broke must not close another's.
        self._clients: dict[tuple[ServerProcess, int], Client] = {}

    def __enter__(self) -> Self:
        self._opened.callback(self.store.stop)
        self.store.start()
        self.client: StoreClient = self.store.client()
        for server in self.servers:
            self._opened.enter_context(server)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients.values():
            client.close()
        for server in self.servers:
            server.resume()
        self._opened.close()

    # --- failpoints

    def arm(self, plan: str) -> None:
        for mark in self._marks.iterdir():
            mark.unlink()
        self._plan.write_text(plan)

    def acted(self, point: str) -> int | None:
        """The process in which the point has acted."""
        mark = self._marks / point
        text = mark.read_text() if mark.exists() else ""
        return int(text) if text else None

    def server_of(self, pid: int) -> ServerProcess | None:
        """The server that is this process, or that it works for."""
        for server in self.servers:
            if server.alive and pid in {process.pid for process in family(server.pid)}:
                return server
        return None

    # --- what is dead, and what answers

    def revive(self) -> None:
        """Start what is dead again."""
        self.revive_store()
        with self._reviving:
            for server in self.servers:
                if not server.alive:
                    self._start(server)

    def _start(self, server: ServerProcess) -> None:
        """As whatever watches over servers does: one that could not start, because the meta database was away, is
        started again."""
        end = time.monotonic() + PATIENCE_S
        while not server.alive:
            try:
                server.start()
            except MetaAway:
                if time.monotonic() > end:
                    raise

    def revive_store(self) -> None:
        with self._reviving:
            for number in self.store.numbers:
                if not self.store.alive(number):
                    self.store.restart(number)

    def revive_needed(self) -> None:
        """Start what is dead where nobody else can do its work: data servers, and servers if none is left."""
        self.revive_store()
        if not any(server.alive and server not in self.silent for server in self.servers):
            self.revive()

    def call(self, ask: Callable[[Client], Answer]) -> Answer:
        """Ask a server that answers. MetaAway where none does."""
        missing = MetaAway("no server of the scene is alive")
        for server in self.servers:
            if server.alive and server not in self.silent:
                mine = (server, threading.get_ident())
                try:
                    return ask(self._clients.get(mine) or self._clients.setdefault(mine, server.client()))
                except MetaAway as error:
                    # A connection that broke waits longer and longer before it tries again; a new one does not.
                    missing = error
                    self._clients.pop(mine).close()
        raise missing

    def status(self, name: str) -> Status:
        """A subscription; raises what it failed with."""
        [status] = self.call(lambda client: client.status(name))
        failure = status.subscription.error
        if status.subscription.state == "failed" and failure is not None:
            raise failure
        return status

    def now(self) -> Ts:
        return self.patiently(self.client.now)

    def patiently(self, ask: Callable[[], Answer], revive: bool = True) -> Answer:
        """The answer once there is one; what is dead is started meanwhile, unless somebody else sees to that."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask()
            except Transient:
                if time.monotonic() > end:
                    raise
                if revive:
                    self.revive_needed()
                time.sleep(LOOK_EVERY_S)

    def until(self, holds: Callable[[], bool], otherwise: str, revive: bool = True) -> None:
        """Wait for something that must come."""
        end = time.monotonic() + PATIENCE_S
        last: TailraceError | None = None
        while time.monotonic() < end:
            try:
                if holds():
                    return
            except (Transient, NotFound) as error:
                last = error
            if revive:
                self.revive_needed()
            time.sleep(LOOK_EVERY_S)
        words = "; ".join(server.last_words() for server in self.servers)
        raise AssertionError(f"{otherwise} (in {PATIENCE_S:.0f} s; {last}): {words}")

    def reached(self, name: str, ts: Ts) -> bool:
        """Whether a subscription's progress has come to a ts."""
        return self.status(name).subscription.checkpoint_ts >= ts

    def ended(self, name: str) -> bool:
        """Whether a subscription that was cancelled is."""
        try:
            [status] = self.call(lambda client: client.status(name))
        except Terminal:
            return True
        return status.subscription.state == "cancelled"
