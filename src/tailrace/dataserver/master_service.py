"""The master's service: messages to calls of `Master` and back."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.change.ranges import Epoch
from tailrace.dataserver.catalog import Placed, route_message
from tailrace.dataserver.changeover import Heir
from tailrace.dataserver.master import Master
from tailrace.proto import master_pb2 as pb
from tailrace.upstream.dataserver.schemas import event_message, table_message, table_of


class MasterService:
    def __init__(self, master: Master) -> None:
        self._master = master

    def Tso(self, request: pb.TsoRequest) -> pb.TsoResponse:
        if request.server_id:
            self._master.check_server(request.server_id, request.incarnation)
        written = [(each.table_id, each.version) for each in request.written]
        return pb.TsoResponse(first=self._master.take(max(request.count, 1), written))

    def Tables(self, request: pb.TablesRequest) -> pb.TablesResponse:
        tables = self._master.catalog.tables(request.at or self._master.take())
        return pb.TablesResponse(tables=[table_message(table) for table in tables])

    def Table(self, request: pb.TableRequest) -> pb.TableResponse:
        catalog = self._master.catalog
        found = catalog.at(request.table_id, request.at) if request.at else None
        found = found or catalog.table(request.table_id, request.version)
        return pb.TableResponse(table=table_message(found))

    def Routes(self, request: pb.RoutesRequest) -> pb.RoutesResponse:
        catalog = self._master.catalog
        servers = catalog.servers()
        if request.range_id:
            self._master.placement.check_still(request.range_id)
            found = [catalog.range(request.range_id)]
        elif request.closed_since:
            found = catalog.closed(request.table_id, request.closed_since)
        else:
            found = catalog.ranges(request.table_id)
        return pb.RoutesResponse(routes=[route_message(placed, servers[placed.server_id]) for placed in found])

    def Split(self, request: pb.SplitRequest) -> pb.PlacementResponse:
        return self._placed(self._master.placement.split(request.range_id, request.key))

    def Merge(self, request: pb.MergeRequest) -> pb.PlacementResponse:
        return self._placed(self._master.placement.merge(request.left, request.right))

    def Move(self, request: pb.MoveRequest) -> pb.PlacementResponse:
        return self._placed(self._master.placement.move(request.range_id, request.server_id, request.force))

    def Settle(self, request: pb.SettleRequest) -> pb.PlacementResponse:
        heirs = [
            Heir(each.range_id, each.start, each.end, Epoch(each.range_epoch.version, each.range_epoch.leader))
            for each in request.heirs
        ]
        return self._placed(self._master.placement.settle(list(request.parents), heirs, list(request.last_ts)))

    def Servers(self, request: pb.ServersRequest) -> pb.ServersResponse:
        servers = self._master.catalog.servers()
        return pb.ServersResponse(servers=[pb.Server(server_id=key, address=servers[key]) for key in sorted(servers)])

    def DdlLog(self, request: pb.DdlLogRequest) -> pb.DdlLogResponse:
        events = self._master.catalog.events(request.after, request.upto)
        return pb.DdlLogResponse(events=[event_message(event) for event in events])

    def DdlResolved(self, request: pb.DdlResolvedRequest) -> pb.DdlResolvedResponse:
        return pb.DdlResolvedResponse(ts=self._master.ddl_resolved())

    def Execute(self, request: pb.ExecuteRequest) -> pb.ExecuteResponse:
        wish = table_of(request.table) if request.HasField("table") else None
        event = self._master.execute(
            request.type,
            request.query,
            request.schema_name,
            request.table_name,
            wish,
            (request.new_schema, request.new_name),
            request.split_handles,
        )
        return pb.ExecuteResponse(event=event_message(event))

    def RegisterServer(self, request: pb.RegisterServerRequest) -> pb.RegisterServerResponse:
        server_id = self._master.register_server(
            request.server_id, request.address, request.incarnation, request.folder
        )
        drops = self._master.drops_of(server_id)
        return pb.RegisterServerResponse(
            server_id=server_id,
            dropped_ranges=[range_id for range_id, _ in drops],
            dropped_ts=[ts for _, ts in drops],
            led_ranges=self._master.catalog.led_by(server_id),
        )

    def _placed(self, found: Sequence[Placed]) -> pb.PlacementResponse:
        servers = self._master.catalog.servers()
        return pb.PlacementResponse(routes=[route_message(each, servers[each.server_id]) for each in found])

    def RowIds(self, request: pb.RowIdsRequest) -> pb.RowIdsResponse:
        return pb.RowIdsResponse(first=self._master.row_ids(request.table_id, max(request.count, 1)))
