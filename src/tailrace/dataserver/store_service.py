"""The store's service: what clients write and the master orders, as calls of a range's leader."""

from __future__ import annotations

from pathlib import Path

from tailrace.change.ranges import Epoch
from tailrace.dataserver.changeover import Changeover, Heir
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.meta import RangeMeta
from tailrace.dataserver.node import Node
from tailrace.dataserver.orders import heir_message, heir_of
from tailrace.dataserver.rows import from_arrow
from tailrace.proto import store_pb2 as pb
from tailrace.proto.base_pb2 import RangeEpoch


class StoreService:
    def __init__(self, node: Node, changeover: Changeover) -> None:
        self._node, self._changeover = node, changeover

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
        self._node.check_own()
        fate = self._node.leader(request.range_id).check(request.start_ts, request.extend_ms / 1000)
        return pb.CheckTxnResponse(open=fate is None, commit_ts=fate or 0)

    def Write(self, request: pb.WriteRequest) -> pb.WriteResponse:
        leader = self._leader(request.range_id, request.range_epoch)
        rows = from_arrow(request.page.arrow, f"write of {request.start_ts}")
        first = leader.write(request.start_ts, request.each, rows, request.page.schema_version)
        return pb.WriteResponse(commit_ts=first)

    def Succeed(self, request: pb.SucceedRequest) -> pb.SucceedResponse:
        heirs = self._changeover.succeed(list(request.parents), [heir_of(each) for each in request.heirs])
        made = [heir_message(Heir(each.range_id, each.start, each.end, each.epoch)) for each in heirs]
        last_ts = [self._node.leader(each).meta.last_ts for each in request.parents]
        return pb.SucceedResponse(heirs=made, last_ts=last_ts)

    def Yield(self, request: pb.YieldRequest) -> pb.RangeResponse:
        self._changeover.yield_range(request.range_id)
        return pb.RangeResponse()

    def Resume(self, request: pb.YieldRequest) -> pb.RangeResponse:
        self._changeover.resume(request.range_id)
        return pb.RangeResponse()

    def Forget(self, request: pb.YieldRequest) -> pb.RangeResponse:
        self._changeover.forget(request.range_id)
        return pb.RangeResponse()

    def Adopt(self, request: pb.AdoptRequest) -> pb.RangeResponse:
        self._changeover.adopt(request.range_id, Path(request.folder), request.epoch_leader, request.seal)
        return pb.RangeResponse()

    def Describe(self, request: pb.DescribeRequest) -> pb.DescribeResponse:
        leader = self._node.leader(request.range_id)
        meta = leader.meta
        rows, middle = leader.versions.measure(request.middle)
        return pb.DescribeResponse(
            rows=rows,
            middle_key=middle,
            resolved_ts=leader.resolved(self._node.clock.take()),
            log_pages=len(leader.history),
            open_transactions=len(leader.locks.open),
            subscribers=sorted(meta.pins),
        )

    def _leader(self, range_id: int, epoch: RangeEpoch) -> RangeLeader:
        self._node.check_own()
        leader = self._node.leader(range_id)
        leader.check_epoch(epoch.version, epoch.leader)
        return leader
