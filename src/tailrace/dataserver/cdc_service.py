"""The CDC service: what a cdc-server asks of the ranges that are led here."""

from __future__ import annotations

import time

import pyarrow as pa

from tailrace.change.tso import MAX_TS, Ts
from tailrace.dataserver import log_pages, retention
from tailrace.dataserver.keys import bound
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.node import Node
from tailrace.dataserver.plain_rows import log_data, snapshot_data
from tailrace.dataserver.rows import ipc_bytes
from tailrace.dataserver.versions import Piece
from tailrace.errors import IteratorLost, Locked, PositionLost, StaleRoute
from tailrace.observe.failpoints import reach
from tailrace.proto import cdc_pb2 as pb
from tailrace.proto.base_pb2 import RangeEpoch
from tailrace.upstream.dataserver.wire import error_message

LOCK_WAIT_S = 5.0
LONGEST_POLL_S = 15.0
SNAPSHOT_BYTES = 32 << 20
DEFAULT_BYTES = 8 << 20
DEFAULT_ROWS = 1 << 16
_GATHER_S = 0.002


class CdcService:
    def __init__(self, node: Node) -> None:
        self._node = node

    def CdcRegister(self, request: pb.CdcRegisterRequest) -> pb.CdcRegisterResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        # Who is behind may come for a table after its end: its log is still there, up to the drop.
        if not leader.meta.heirs and not 0 < request.at < leader.meta.dropped_ts:
            leader.check_held()
        # The index is read after the timestamp: a commit that is not in the log yet then is above it.
        version = request.at or self._node.clock.take()
        retention.pin(leader, self._node.database, request.subscriber_name, version)
        reach("store-pinned")
        with leader.mutex:
            index = leader.history.first_index_above(version, leader.next_index)
            index = leader.locks.first_index(index)
        return pb.CdcRegisterResponse(init_snapshot_version=version, log_index=index)

    def CdcRelease(self, request: pb.CdcReleaseRequest) -> pb.CdcReleaseResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        upto = None if request.upto == MAX_TS else request.upto
        retention.release(leader, self._node.database, request.subscriber_name, upto)
        return pb.CdcReleaseResponse()

    def CdcFrontier(self, request: pb.CdcFrontierRequest) -> pb.CdcFrontierResponse:
        limit = time.monotonic() + min(request.wait_s, LONGEST_POLL_S)
        while True:
            seen = self._node.commits.seen
            known = self._node.clock.take()
            frontiers = [self._frontier(mark, known) for mark in request.marks]
            self._node.check_own()
            fresh = any(found.bucket_ts or found.heirs or found.HasField("error") for found in frontiers)
            if fresh or time.monotonic() >= limit:
                return pb.CdcFrontierResponse(frontiers=frontiers)
            if self._node.commits.wait(seen, limit - time.monotonic()):
                # Many commits of other ranges are one reason to look again, not many.
                time.sleep(_GATHER_S)

    def CdcPullSnapshot(self, request: pb.CdcPullSnapshotRequest) -> pb.CdcPullSnapshotResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        version = int(request.current_snapshot_version)
        leader.check_held()
        self._check_version(leader, version)
        leader.wait_unlocked(version, LOCK_WAIT_S)
        meta = leader.meta
        end_key = min(filter(None, (request.end_key, meta.end)), default=b"")
        first = request.last_key or request.start_key or meta.start
        after = bound(first, leader.prefix, meta.common_handle, bool(request.last_key))
        end = bound(end_key or b"\xff", leader.prefix, meta.common_handle)
        limit = request.limit_rows or DEFAULT_ROWS
        response = pb.CdcPullSnapshotResponse(current_snapshot_version=version, end=True)
        rows = size = 0
        for piece in leader.versions.read(version, after, end, end_key, first, limit):
            page = _snapshot_page(piece, version)
            response.pages.append(page)
            response.last_key = piece.last_key
            rows, size = rows + piece.rows, size + len(page.arrow)
            if rows >= limit or size >= SNAPSHOT_BYTES:
                response.end = False
                break
        leader.check_rows_here()
        self._check_version(leader, version)
        self._node.check_own()
        if not request.columnar:
            snapshot_data(response)
        return response

    def CdcPullLog(self, request: pb.CdcPullLogRequest) -> pb.CdcPullLogResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        upto = request.upto_ts or leader.resolved(self._node.clock.take())
        if not leader.meta.heirs:
            self._check_resolved(leader, upto)
        self._node.check_own()
        with leader.mutex:
            self._check_kept(leader, request.from_ts, request.last_log_index)
            entries = leader.history.span(request.from_ts, upto)
            current = leader.locks.first_index(leader.history.first_index_above(upto, leader.next_index))
        if not request.from_ts:
            entries = entries[entries["index"] >= request.last_log_index]
        at = log_pages.position(entries, request.token)
        count = log_pages.fitting(entries[at:], request.limit_bytes or DEFAULT_BYTES)
        response = pb.CdcPullLogResponse(current_log_index=current, from_ts=request.from_ts, upto_ts=upto)
        response.pages.extend(log_pages.pages(self._node.wal, entries[at : at + count]))
        if at + count < len(entries):
            response.next = log_pages.token_of(entries, at + count)
        if not request.columnar:
            log_data(response)
        return response

    def _leader(self, range_id: int, epoch: RangeEpoch) -> RangeLeader:
        leader = self._node.leader(range_id)
        leader.check_epoch(epoch.version, epoch.leader)
        return leader

    def _frontier(self, mark: pb.Mark, known: Ts) -> pb.Frontier:
        try:
            leader = self._leader(mark.range_id, mark.range_epoch)
        except StaleRoute as error:
            return pb.Frontier(range_id=mark.range_id, error=error_message(error))
        with leader.mutex:
            heirs = leader.meta.heirs
            resolved = leader.resolved_now(known)
            # All that a closed log holds is there for good; what it speaks of for others ends at `resolved`.
            ts, rows, size = leader.history.buckets(mark.from_ts, MAX_TS if heirs else resolved)
            index = leader.locks.first_index(leader.history.first_index_above(resolved, leader.next_index))
        return pb.Frontier(
            range_id=mark.range_id,
            resolved_ts=resolved,
            next_index=index,
            bucket_ts=ts,
            bucket_rows=rows,
            bucket_bytes=size,
            heirs=() if mark.closed else heirs,
        )

    def _check_version(self, leader: RangeLeader, version: Ts) -> None:
        if version < leader.history.pruned_ts:
            raise PositionLost(
                f"range {leader.meta.range_id} has row versions from {leader.meta.safe_ts} and its log from "
                f"{leader.history.pruned_ts} on; a snapshot at {version} cannot be gone on with",
                position=f"({version}, {leader.history.pruned_ts}]",
            )
        if version < leader.meta.safe_ts:
            raise IteratorLost(
                f"range {leader.meta.range_id} keeps row versions from {leader.meta.safe_ts} on; the snapshot at "
                f"{version} is gone, the log above it is there",
                position=f"({version}, {leader.meta.safe_ts}]",
            )
        if not self._node.clock.at_least(version):
            raise Locked(f"the version {version} lies in the future")

    def _check_kept(self, leader: RangeLeader, from_ts: Ts, from_index: int) -> None:
        """A position is a ts; where it is only an index, as in the first design, that decides."""
        history = leader.history
        lost = from_ts < history.pruned_ts if from_ts or not from_index else from_index <= history.pruned_index
        if lost:
            raise PositionLost(
                f"the log of range {leader.meta.range_id} begins above {history.pruned_ts}: the changes from {from_ts} "
                "to there are gone; a new snapshot is needed",
                position=f"({from_ts}, {history.pruned_ts}]",
            )

    def _check_resolved(self, leader: RangeLeader, upto: Ts) -> None:
        if leader.resolved(self._node.clock.known) < upto and leader.resolved(self._node.clock.take()) < upto:
            raise Locked(f"range {leader.meta.range_id} is not resolved to {upto} yet")


def _snapshot_page(piece: Piece, version: Ts) -> pb.Page:
    if piece.cells is None:
        return pb.Page(rows=piece.rows, commit_ts=version, start_ts=version, arrow=piece.stored)
    columns = pa.RecordBatch.from_arrays([piece.cells.key, piece.cells.value], names=["key", "value"])
    return pb.Page(rows=piece.rows, commit_ts=version, start_ts=version, arrow=bytes(ipc_bytes(columns)))
