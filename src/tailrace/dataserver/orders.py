"""Orders: what the master tells data servers to do with ranges, each a call with a deadline.

An order that is given twice has the effect of one. It decides nothing and remembers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.change.ranges import Epoch, Range
from tailrace.change.tso import Ts
from tailrace.dataserver.changeover import Heir
from tailrace.proto import store_pb2 as pb
from tailrace.upstream.dataserver.wire import STORE, Wire

QUICK_S = 10.0
# Rows and log of a range are copied within one call.
COPY_S = 600.0


class Orders:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def make_range(self, address: str, wanted: Range, common_handle: bool) -> None:
        request = pb.CreateRangeRequest(
            range_id=wanted.id,
            table_id=wanted.table_id,
            physical_id=wanted.physical_id,
            start=wanted.start,
            end=wanted.end,
            common_handle=common_handle,
        )
        request.range_epoch.version, request.range_epoch.leader = wanted.epoch.version, wanted.epoch.leader
        self._wire.call(address, STORE, "CreateRange", request, QUICK_S)

    def drop_range(self, address: str, range_id: int, ts: Ts) -> None:
        request = pb.DropRangeRequest(range_id=range_id, dropped_ts=ts)
        self._wire.call(address, STORE, "DropRange", request, QUICK_S)

    def middle(self, address: str, range_id: int) -> bytes:
        request = pb.DescribeRequest(range_id=range_id, middle=True)
        return bytes(self._wire.call(address, STORE, "Describe", request, COPY_S).middle_key)

    def succeed(self, address: str, parents: Sequence[int], heirs: Sequence[Heir]) -> tuple[list[Heir], list[Ts]]:
        """The heirs that there are now, and the last commit ts of each parent's log."""
        request = pb.SucceedRequest(parents=parents, heirs=[heir_message(heir) for heir in heirs])
        answer = self._wire.call(address, STORE, "Succeed", request, COPY_S)
        return [heir_of(message) for message in answer.heirs], [int(ts) for ts in answer.last_ts]

    def yield_range(self, address: str, range_id: int) -> None:
        self._wire.call(address, STORE, "Yield", pb.YieldRequest(range_id=range_id), QUICK_S)

    def resume(self, address: str, range_id: int) -> None:
        self._wire.call(address, STORE, "Resume", pb.YieldRequest(range_id=range_id), QUICK_S)

    def forget(self, address: str, range_id: int) -> None:
        self._wire.call(address, STORE, "Forget", pb.YieldRequest(range_id=range_id), QUICK_S)

    def adopt(self, address: str, range_id: int, folder: str, epoch_leader: int, seal: bool) -> None:
        request = pb.AdoptRequest(range_id=range_id, folder=folder, epoch_leader=epoch_leader, seal=seal)
        self._wire.call(address, STORE, "Adopt", request, COPY_S)


def heir_message(heir: Heir) -> pb.Heir:
    return pb.Heir(
        range_id=heir.range_id,
        start=heir.start,
        end=heir.end,
        epoch_version=heir.epoch.version,
        epoch_leader=heir.epoch.leader,
    )


def heir_of(message: pb.Heir) -> Heir:
    epoch = Epoch(message.epoch_version, message.epoch_leader)
    return Heir(message.range_id, message.start, message.end, epoch)
