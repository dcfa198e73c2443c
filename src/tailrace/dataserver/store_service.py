"""The store's service: what clients write and the master orders, as calls of a range's leader."""

from __future__ import annotations

from tailrace.change.ranges import Epoch
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.meta import RangeMeta
from tailrace.dataserver.node import Node
from tailrace.dataserver.rows import from_arrow
from tailrace.proto import store_pb2 as pb
from tailrace.proto.base_pb2 import RangeEpoch


class StoreService:
    def __init__(self, node: Node) -> None:
        self._node = node

    def CreateRange(self, request: pb.CreateRangeRequest) -> pb.RangeResponse:
        epoch = Epoch(request.range_epoch.version, request.range_epoch.leader)
        self._node.create(
            RangeMeta(
                request.range_id, request.table_id, request.physical_id, request.start, request.end,
                request.common_handle, epoch, request.created_ts,
            )
        )  # fmt: skip
        return pb.RangeResponse()

    def DropRange(self, request: pb.DropRangeRequest) -> pb.RangeResponse:
        self._node.drop(request.range_id, request.dropped_ts)
        return pb.RangeResponse()

    def Prewrite(self, request: pb.PrewriteRequest) -> pb.PrewriteResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        rows = from_arrow(request.page.arrow, f"prewrite of {request.start_ts}")
        floor = leader.prewrite(
            request.start_ts,
            request.sequence,
            request.primary_range,
            request.ttl_ms / 1000,
            rows,
            request.page.schema_version,
        )
        return pb.PrewriteResponse(min_commit_ts=floor)

    def Commit(self, request: pb.CommitRequest) -> pb.TxnResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        return pb.TxnResponse(commit_ts=leader.commit(request.start_ts, request.commit_ts))

    def Rollback(self, request: pb.RollbackRequest) -> pb.TxnResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        return pb.TxnResponse(commit_ts=leader.rollback(request.start_ts))

    def CheckTxn(self, request: pb.CheckTxnRequest) -> pb.CheckTxnResponse:
        fate = self._node.leader(request.range_id).check(request.start_ts, request.extend_ms / 1000)
        return pb.CheckTxnResponse(open=fate is None, commit_ts=fate or 0)

    def Write(self, request: pb.WriteRequest) -> pb.WriteResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        rows = from_arrow(request.page.arrow, f"write of {request.start_ts}")
        first = leader.write(request.start_ts, request.each, rows, request.page.schema_version)
        return pb.WriteResponse(commit_ts=first)

    def _leader(self, range_id: int, epoch: RangeEpoch) -> RangeLeader:
        leader = self._node.leader(range_id)
        leader.check_epoch(epoch.version, epoch.leader)
        return leader
