"""A process of the store: a master, a data server, or both behind one address.

Guarantees that a data server listens only after it has its data back and the master knows its address. When another
process takes its place, the TSO refuses it, so it can resolve and commit nothing more. One whose ranges were taken over
while it was away says so (`shut_out`), and must be started again.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import ServiceDescriptor

from tailrace.change.tso import Ts
from tailrace.dataserver import retention
from tailrace.dataserver.catalog import Catalog
from tailrace.dataserver.cdc_service import CdcService
from tailrace.dataserver.changeover import Changeover
from tailrace.dataserver.master import Master
from tailrace.dataserver.master_service import MasterService
from tailrace.dataserver.meta import RangeMeta
from tailrace.dataserver.node import Node
from tailrace.dataserver.orders import Orders
from tailrace.dataserver.residence import settle
from tailrace.dataserver.serving import Served
from tailrace.dataserver.settling import Settling
from tailrace.dataserver.store_service import StoreService
from tailrace.dataserver.timestamps import Timestamps
from tailrace.dataserver.upkeep import Upkeep
from tailrace.errors import NotFound, StaleRoute, UpstreamAway
from tailrace.proto import master_pb2, store_pb2
from tailrace.upstream.dataserver.wire import CDC, MASTER, STORE, Wire

Role = Literal["master", "data", "both"]
REGISTER_S = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """`master` is the master's address; empty where this process is the master."""

    store: Path
    listen: str
    role: Role
    master: str = ""
    fsync: bool = True
    history_bytes: int = retention.HISTORY_BYTES
    versions_ms: int = 0


class StoreProcess:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._wire = Wire()
        self._incarnation = uuid.uuid4().hex
        self._server_id = 0
        self._master: Master | None = None
        self._node: Node | None = None
        self.shut_out = threading.Event()
        services: list[tuple[ServiceDescriptor, object]] = []
        if options.role in ("master", "both"):
            catalog = Catalog(options.store / "master", options.fsync)
            self._master = Master(catalog, Orders(self._wire))
            services.append((MASTER, MasterService(self._master)))
        if options.role in ("data", "both"):
            self._node = Node(options.store / "data", Timestamps(self._take), options.fsync, options.versions_ms)
            changeover = Changeover(self._node)
            self._upkeep = Upkeep(self._node, self._ask_primary, options.history_bytes)
            self._settling = Settling(self._node, changeover, self._settle, self._is_mine, self.shut_out.set)
            services += [(CDC, CdcService(self._node)), (STORE, StoreService(self._node, changeover))]
        self._served = Served(options.listen, services)

    @property
    def address(self) -> str:
        return self._served.address

    def start(self) -> None:
        """Returns when the process can be called."""
        settle()
        # Arrow looks for pandas at its first conversion, which takes seconds; no caller should wait for that.
        pa.array(np.zeros(1))
        if self._node is not None:
            self._register(self._node)
        self._served.start()
        if self._node is not None:
            self._upkeep.start()
            self._settling.start()

    def stop(self, grace_s: float = 2.0) -> None:
        self._served.stop(grace_s)
        if self._node is not None:
            self._settling.stop()
            self._upkeep.stop()
            self._node.close()
        if self._master is not None:
            self._master.catalog.close()
        self._wire.close()

    def _register(self, node: Node) -> None:
        request = master_pb2.RegisterServerRequest(
            server_id=node.database.identity(),
            address=self.address,
            incarnation=self._incarnation,
            folder=str((self._options.store / "data").resolve()),
        )
        if self._master is not None:
            response = MasterService(self._master).RegisterServer(request)
        else:
            response = self._patiently(request)
        self._server_id = response.server_id
        node.database.save_identity(response.server_id)
        for range_id, ts in zip(response.dropped_ranges, response.dropped_ts, strict=True):
            node.drop(range_id, ts)
        node.keep_only(set(response.led_ranges))
        node.wal.unseal()
        # Before the first timestamp of this life, nothing is known to be handed out.
        node.clock.take()

    def _patiently(self, request: master_pb2.RegisterServerRequest) -> master_pb2.RegisterServerResponse:
        limit = time.monotonic() + REGISTER_S
        while True:
            try:
                answer: master_pb2.RegisterServerResponse = self._wire.call(
                    self._options.master, MASTER, "RegisterServer", request, 5.0
                )
                return answer
            except UpstreamAway:
                if time.monotonic() > limit:
                    raise
                time.sleep(0.1)

    def _take(self, count: int, written: Sequence[tuple[int, Ts]]) -> Ts:
        if self._master is not None:
            return self._master.take(count, written)
        request = master_pb2.TsoRequest(count=count, server_id=self._server_id, incarnation=self._incarnation)
        for table_id, version in written:
            request.written.add(table_id=table_id, version=version)
        return int(self._wire.call(self._options.master, MASTER, "Tso", request, 5.0).first)

    def _ask_primary(self, range_id: int, start_ts: Ts) -> Ts | None:
        """A primary that became others is asked first: what it knows is final. Then the heir that decides for it."""
        while True:
            route = self._route(range_id)
            request = store_pb2.CheckTxnRequest(range_id=range_id, start_ts=start_ts)
            try:
                answer = self._wire.call(route.leader, STORE, "CheckTxn", request, 5.0)
            except StaleRoute:
                if not route.heirs:
                    raise
                range_id = route.heirs[0]
                continue
            return None if answer.open else int(answer.commit_ts)

    def _is_mine(self, range_id: int) -> bool:
        return bool(self._route(range_id).leader == self.address)

    def _route(self, range_id: int) -> master_pb2.Route:
        request = master_pb2.RoutesRequest(range_id=range_id)
        if self._master is not None:
            return MasterService(self._master).Routes(request).routes[0]
        routes = self._wire.call(self._options.master, MASTER, "Routes", request, 5.0).routes
        if not routes:
            raise NotFound(f"there is no range {range_id}")
        route: master_pb2.Route = routes[0]
        return route

    def _settle(self, parents: Sequence[RangeMeta], heirs: Sequence[RangeMeta]) -> None:
        request = master_pb2.SettleRequest(
            parents=[meta.range_id for meta in parents], last_ts=[meta.last_ts for meta in parents]
        )
        for meta in heirs:
            route = request.heirs.add(range_id=meta.range_id, start=meta.start, end=meta.end)
            route.range_epoch.version, route.range_epoch.leader = meta.epoch.version, meta.epoch.leader
        if self._master is not None:
            MasterService(self._master).Settle(request)
        else:
            self._wire.call(self._options.master, MASTER, "Settle", request, 5.0)
