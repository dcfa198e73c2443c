"""Steering: the client's side of splitting, merging and moving ranges, and of seeing where they are.

Every answer is what the master has written down; nothing here waits for those who read the ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.errors import ConfigError, NotFound, TailraceError
from tailrace.proto import master_pb2, store_pb2
from tailrace.upstream.dataserver.client import range_of
from tailrace.upstream.dataserver.wire import MASTER, STORE, Wire
from tailrace.upstream.rowcodec import table_range

# Rows and log of a range may be copied within one call.
COPY_S = 900.0


@dataclass(frozen=True, slots=True)
class RangeStatus:
    """A range and what its leader says of it; `problem` where the leader does not answer."""

    table: TableSchema
    range: Range
    server_id: int
    rows: int = 0
    log_pages: int = 0
    open_transactions: int = 0
    resolved_ts: Ts = 0
    subscribers: tuple[str, ...] = ()
    problem: str = ""


class Steering:
    def __init__(self, client: StoreClient, master: str) -> None:
        self._client, self._master = client, master
        self._wire = Wire()

    def close(self) -> None:
        self._wire.close()

    def split(self, table: TableSchema, key: bytes) -> list[Range]:
        """At a key that lies inside of one of the table's ranges."""
        routes = self._client.upstream.routes(table)
        found = next((route for route in routes if route.covers(key)), None)
        if found is None:
            raise ConfigError(f"the key {key.hex()} lies outside of every range of {table.full_name}")
        return self._placed("Split", master_pb2.SplitRequest(range_id=found.id, key=key))

    def split_in_the_middle(self, table: TableSchema) -> list[Range]:
        """The range with the most rows."""
        largest = max(self.status([table]), key=lambda each: each.rows)
        return self._placed("Split", master_pb2.SplitRequest(range_id=largest.range.id))

    def merge(self, left: int, right: int) -> list[Range]:
        return self._placed("Merge", master_pb2.MergeRequest(left=left, right=right))

    def move(self, range_id: int, server_id: int, force: bool = False) -> list[Range]:
        return self._placed("Move", master_pb2.MoveRequest(range_id=range_id, server_id=server_id, force=force))

    def servers(self) -> dict[int, str]:
        """Addresses by number."""
        found = self._wire.call(self._master, MASTER, "Servers", master_pb2.ServersRequest()).servers
        return {int(server.server_id): str(server.address) for server in found}

    def server(self, name: str) -> int:
        """The number of a server that is named by its number or its address."""
        servers = self.servers()
        found = next((each for each, address in servers.items() if name in (str(each), address)), None)
        if found is None:
            known = ", ".join(f"{each} ({address})" for each, address in servers.items())
            raise NotFound(f"there is no data server {name}; there are {known}")
        return found

    def status(self, tables: Sequence[TableSchema]) -> list[RangeStatus]:
        """All ranges of the tables, in key order."""
        numbers = {address: number for number, address in self.servers().items()}
        return [
            self._described(table, route, numbers.get(route.leader, 0))
            for table in tables
            for route in self._client.upstream.routes(table)
        ]

    def _described(self, table: TableSchema, route: Range, server_id: int) -> RangeStatus:
        try:
            said = self._wire.call(route.leader, STORE, "Describe", store_pb2.DescribeRequest(range_id=route.id), 5.0)
        except TailraceError as error:
            return RangeStatus(table, route, server_id, problem=error.message)
        return RangeStatus(
            table,
            route,
            server_id,
            int(said.rows),
            int(said.log_pages),
            int(said.open_transactions),
            int(said.resolved_ts),
            tuple(said.subscribers),
        )

    def _placed(self, method: str, request: Any) -> list[Range]:
        answer = self._wire.call(self._master, MASTER, method, request, COPY_S)
        self._client.forget()
        return [range_of(route) for route in answer.routes]


def key_bytes(table: TableSchema, text: str) -> bytes:
    """A key as a person writes it: an integer handle, or the whole key in hexadecimal after `0x`."""
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError as error:
            raise ConfigError(f"the key {text} is not hexadecimal; it should be like 0x7480…") from error
    if table.common_handle:
        raise ConfigError(f"the keys of {table.full_name} are no integers; give one in hexadecimal, as 0x7480…")
    if table.partitions:
        raise ConfigError(f"{table.full_name} is partitioned; give a whole key in hexadecimal, as 0x7480…")
    try:
        handle = int(text)
    except ValueError as error:
        raise ConfigError(f"the key {text!r} is neither an integer nor hexadecimal (0x7480…)") from error
    if not -(1 << 63) <= handle < 1 << 63:
        raise ConfigError(f"the key {text} does not fit 64 bits")
    return table_range(table.table_id)[0] + (handle + (1 << 63)).to_bytes(8, "big")


def key_text(table: TableSchema, key: bytes) -> str:
    """The other way round; empty at an end of the table."""
    start, end = table_range(table.table_id) if not table.partitions else (b"", b"")
    if key in (start, end, b""):
        return ""
    if table.common_handle or len(key) != len(start) + 8 or not key.startswith(start):
        return "0x" + key.hex()
    return str(int.from_bytes(key[len(start) :], "big") - (1 << 63))
