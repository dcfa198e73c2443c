"""What a test writes into the store, and what comes back out of its log."""

from __future__ import annotations

from typing import Any

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.dataserver.client import StoreClient
from tailrace.upstream.base import Mark, log_batches
from tests.dataserver.stores import image

Seen = tuple[int, int, int, str | None, str | None]


class Every:
    def matches(self, schema: str, table: str) -> bool:
        return True


def write(client: StoreClient, known: TableSchema, op: int, ids: range | list[int], note: str = "n") -> int:
    txn = client.begin()
    {INSERT: txn.insert, UPDATE: txn.update, DELETE: txn.delete}[op](known, image(known, ids, note))
    return txn.commit()


def resolved(client: StoreClient, ranges: list[Range], above: int) -> int:
    fronts = client.upstream.frontier([Mark(known, 0, above) for known in ranges], 0.0)
    return min(front.resolved_ts for front in fronts)


def changes(client: StoreClient, ranges: list[Range], from_ts: int, upto: int, limit: int = 1 << 20) -> list[Seen]:
    """(commit ts, op, after id, after note, before note) of all ranges."""
    found: list[Any] = []
    for known in ranges:
        last = from_ts
        for batch in log_batches(client.upstream, known, 0, from_ts, upto, limit):
            for row in batch.data.to_pylist():
                assert row["commit_ts"] >= last and row["start_ts"] < row["commit_ts"] <= upto
                last = row["commit_ts"]
                after, before = row["after"] or {}, row["before"] or {}
                name = after.get("id", before.get("id"))
                found.append((row["commit_ts"], row["op"], name, after.get("note"), before.get("note")))
    return sorted(found, key=str)
