"""A fault at any point, in any way: what readers see is right all along, and in the end equal to the source.

All cases share one scene of two servers and a store, so each fault meets servers that have lived through others. A
case that fails ends the scene, and the next one has a new one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column
from tailrace.codec.csv.options import CsvOptions
from tailrace.dataserver.steering import Steering, key_bytes
from tailrace.errors import AlreadyExists, ConfigError, NotFound, Transient
from tailrace.server.requests import SubscribeRequest
from tailrace.testing import shop
from tailrace.testing.processes import is_stopped
from tailrace.testing.reader import FolderForm
from tailrace.testing.scene import Scene
from tailrace.testing.server_process import ServerProcess
from tailrace.testing.traffic import Traffic
from tailrace.testing.validators import FolderWatch
from tests.faults.cases import CANCEL, DDL, IDLE, STEERED, STORE, Case, chosen

pytestmark = [pytest.mark.faults, pytest.mark.spark]

ROWS = 400
LEASE_S = 3.0
STORE_STOP_S = 3.0
NUDGE_S = 10.0
CONFIG = '[sink]\nschema-dialect = "new"\n[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true\n'
FORM = FolderForm(CsvOptions(include_commit_ts=True, output_old_value=True))


class Theatre:
    """The scene of now; a new one after a failure."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self._opened = ExitStack()
        self._scene: Scene | None = None

    def scene(self) -> Scene:
        if self._scene is None:
            self._number += 1
            made = Scene(self._folder / f"scene-{self._number}", ("--master", "local[2,4]"), LEASE_S)
            self._scene = self._opened.enter_context(made)
        return self._scene

    def close(self) -> None:
        self._scene = None
        self._opened.close()


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    theatre = Theatre(tmp_path_factory.mktemp("faults"))
    yield theatre
    theatre.close()


@pytest.mark.parametrize("case", chosen(), ids=lambda case: case.name)
def test_a_fault_at_any_point_is_never_seen_by_a_reader(theatre: Theatre, case: Case, tmp_path: Path) -> None:
    try:
        Trial(theatre.scene(), case, tmp_path / "copy").run()
    except BaseException:
        theatre.close()
        raise


class Trial:
    """One case: a schema and a subscription of its own, traffic, the fault, and what readers see meanwhile."""

    def __init__(self, scene: Scene, case: Case, folder: Path) -> None:
        self.scene, self.case, self.folder = scene, case, folder
        self.name = f"{case.point}_{case.way}".replace("-", "_")
        self.watch = FolderWatch(folder, FORM)
        self.pool = ThreadPoolExecutor(2)
        self.asked: list[Future[None]] = []

    def run(self) -> None:
        scene, point = self.scene, self.case.point
        scene.arm("")
        self.fill()
        with Traffic(scene.client, self.name, self.case.seed) as traffic:
            if not self.case.late:
                scene.arm(self.case.plan)
            # Beside everything else: the server that is to answer may be the one that stops.
            self.asked.append(self.pool.submit(scene.patiently, self.subscribe))
            if self.case.late:
                self.answered()
                self.catch_up()
                scene.arm(self.case.plan)
            traffic.hold(point in IDLE)
            self.until_acted()
            self.get_over(traffic)
            scene.arm("")
            traffic.hold(False)
            self.answered()
            if point not in CANCEL:
                self.catch_up()
        if point not in CANCEL:
            self.catch_up()
            self.compare()
            self.cancel()
        scene.until(lambda: scene.ended(self.name), f"{self.name} is not cancelled")
        assert self.watch.look() == []
        scene.revive()
        scene.patiently(lambda: scene.client.drop_schema(self.name))

    def fill(self) -> None:
        client, sizes = self.scene.client, shop.sizes(ROWS)
        client.create_schema(self.name)
        for name, definition in shop.tables(self.name).items():
            table = client.create_table(definition, ranges=2, handles=(0, 2_000_000))
            client.bulk_insert(table, shop.image(table, sizes[name]))

    def subscribe(self) -> None:
        sink = f"file://{self.folder}?protocol=csv&flush-interval=2s"
        request = SubscribeRequest(self.name, self.scene.store.uri, sink, CONFIG, (f"{self.name}.*",))
        # It is asked for twice where the first answer was lost.
        with suppress(AlreadyExists):
            self.scene.call(lambda client: client.subscribe(request))

    def cancel(self) -> None:
        self.scene.call(lambda client: client.cancel(self.name))

    def answered(self) -> None:
        """Wait for everything that was asked for; raises what it must not end in."""
        while self.asked:
            self.asked.pop().result()

    def catch_up(self) -> None:
        end = self.scene.now()
        self.scene.until(lambda: self.seen() and self.scene.reached(self.name, end), f"{self.name} is not at {end}")
        self.scene.until(
            lambda: self.seen() and self.watch.checkpoint >= end, f"metadata of {self.name} is not at {end}"
        )

    def seen(self) -> bool:
        """Look as a reader does; True, so that it can be a part of any waiting."""
        assert self.watch.look() == []
        return True

    def until_acted(self) -> None:
        point = self.case.point
        if point in CANCEL:
            self.asked.append(self.pool.submit(self.scene.patiently, self.cancel))
        if point in DDL:
            self.asked.append(self.pool.submit(self.alter))
        if point in STEERED:
            self.asked.append(self.pool.submit(self.steer))
        self.scene.until(lambda: self.seen() and self.scene.acted(point) is not None, f"{point} was never reached")

    def steer(self) -> None:
        """Split ranges, and give each range another leader; what cannot be is left."""
        scene = self.scene
        steering = Steering(scene.client, scene.store.address(0))
        for name in shop.tables(self.name):
            table = scene.patiently(partial(scene.client.table, self.name, name))
            if self.case.point.startswith("succeed"):
                with suppress(Transient, ConfigError):
                    steering.split(table, key_bytes(table, "20"))
            for route in scene.patiently(partial(scene.client.upstream.routes, table)):
                with suppress(Transient, ConfigError, NotFound):
                    servers = {server for server, address in steering.servers().items() if address != route.leader}
                    steering.move(route.id, min(servers))
        steering.close()

    def alter(self) -> None:
        """A statement whose outcome may stay unknown; what is true then is in the store."""
        client, column = self.scene.client, Column(0, "nickname", parse_type("varchar(30)"))
        for attempt in (
            lambda: client.add_column(self.name, "customers", column),
            lambda: client.truncate_table(self.name, "items"),
        ):
            try:
                self.scene.patiently(attempt)
            except (AlreadyExists, NotFound):
                client.forget()

    def get_over(self, traffic: Traffic) -> None:
        """What comes after the fault, until its victim lives on as if nothing had been."""
        scene, pid = self.scene, self.scene.acted(self.case.point)
        assert pid is not None
        if self.case.way == "kill":
            return
        server = scene.server_of(pid)
        if self.case.point in STORE:
            assert server is None
            time.sleep(STORE_STOP_S)
            self.scene.store.resume_all()
            return
        assert server is not None, f"{pid} belongs to no server that is alive"
        scene.until(lambda: is_stopped(pid), f"{pid} has not stopped")
        scene.silent.add(server)
        server.pause(workers=self.case.way == "whole")
        if self.case.way == "driver" and pid != server.pid:
            server.resume_workers()
        traffic.hold(False)
        self.take_over(server)
        server.resume()
        scene.silent.discard(server)
        end = time.monotonic() + 1.5 * LEASE_S
        scene.until(lambda: self.seen() and time.monotonic() > end, "time stands still")

    def take_over(self, stopped: ServerProcess) -> None:
        """The other server goes on. One that was stopped in the middle of writing to SQLite holds everybody up, which
        no server can help: it may go on for a moment, until it is stopped outside of that."""
        scene, end = self.scene, self.scene.now()
        moved = [time.monotonic()]

        def taken() -> bool:
            self.seen()
            if time.monotonic() - moved[0] > NUDGE_S:
                stopped.resume()
                time.sleep(0.02)
                stopped.pause(workers=self.case.way == "whole")
                moved[0] = time.monotonic()
            return scene.ended(self.name) if self.case.point in CANCEL else scene.reached(self.name, end)

        scene.until(taken, f"{self.name} is not taken over")

    def compare(self) -> None:
        client = self.scene.client
        for name in shop.tables(self.name):
            table = client.table(self.name, name)
            source = self.scene.patiently(partial(client.read, table, self.watch.checkpoint))
            assert self.watch.differences(f"{self.name}.{name}", source) == []
