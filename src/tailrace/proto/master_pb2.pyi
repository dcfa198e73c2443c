from tailrace.proto import base_pb2 as _base_pb2
from tailrace.proto import schema_pb2 as _schema_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TableVersion(_message.Message):
    __slots__ = ("table_id", "version")
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    table_id: int
    version: int
    def __init__(self, table_id: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class TsoRequest(_message.Message):
    __slots__ = ("count", "written", "server_id", "incarnation")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    count: int
    written: _containers.RepeatedCompositeFieldContainer[TableVersion]
    server_id: int
    incarnation: str
    def __init__(self, count: _Optional[int] = ..., written: _Optional[_Iterable[_Union[TableVersion, _Mapping[str, object]]]] = ..., server_id: _Optional[int] = ..., incarnation: _Optional[str] = ...) -> None: ...

class TsoResponse(_message.Message):
    __slots__ = ("error", "first")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    first: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., first: _Optional[int] = ...) -> None: ...

class TablesRequest(_message.Message):
    __slots__ = ("at",)
    AT_FIELD_NUMBER: _ClassVar[int]
    at: int
    def __init__(self, at: _Optional[int] = ...) -> None: ...

class TablesResponse(_message.Message):
    __slots__ = ("error", "tables")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    tables: _containers.RepeatedCompositeFieldContainer[_schema_pb2.TableSchema]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., tables: _Optional[_Iterable[_Union[_schema_pb2.TableSchema, _Mapping[str, object]]]] = ...) -> None: ...

class TableRequest(_message.Message):
    __slots__ = ("table_id", "version", "at")
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    table_id: int
    version: int
    at: int
    def __init__(self, table_id: _Optional[int] = ..., version: _Optional[int] = ..., at: _Optional[int] = ...) -> None: ...

class TableResponse(_message.Message):
    __slots__ = ("error", "table")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    table: _schema_pb2.TableSchema
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., table: _Optional[_Union[_schema_pb2.TableSchema, _Mapping[str, object]]] = ...) -> None: ...

class RoutesRequest(_message.Message):
    __slots__ = ("table_id", "range_id", "closed_since")
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    CLOSED_SINCE_FIELD_NUMBER: _ClassVar[int]
    table_id: int
    range_id: int
    closed_since: int
    def __init__(self, table_id: _Optional[int] = ..., range_id: _Optional[int] = ..., closed_since: _Optional[int] = ...) -> None: ...

class Route(_message.Message):
    __slots__ = ("range_id", "range_epoch", "table_id", "partition_id", "start", "end", "leader", "heirs", "last_ts")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    HEIRS_FIELD_NUMBER: _ClassVar[int]
    LAST_TS_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    table_id: int
    partition_id: int
    start: bytes
    end: bytes
    leader: str
    heirs: _containers.RepeatedScalarFieldContainer[int]
    last_ts: int
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., table_id: _Optional[int] = ..., partition_id: _Optional[int] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., leader: _Optional[str] = ..., heirs: _Optional[_Iterable[int]] = ..., last_ts: _Optional[int] = ...) -> None: ...

class RoutesResponse(_message.Message):
    __slots__ = ("error", "routes")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    routes: _containers.RepeatedCompositeFieldContainer[Route]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., routes: _Optional[_Iterable[_Union[Route, _Mapping[str, object]]]] = ...) -> None: ...

class DdlLogRequest(_message.Message):
    __slots__ = ("after", "upto")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    UPTO_FIELD_NUMBER: _ClassVar[int]
    after: int
    upto: int
    def __init__(self, after: _Optional[int] = ..., upto: _Optional[int] = ...) -> None: ...

class DdlLogResponse(_message.Message):
    __slots__ = ("error", "events")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    events: _containers.RepeatedCompositeFieldContainer[_schema_pb2.DdlEvent]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., events: _Optional[_Iterable[_Union[_schema_pb2.DdlEvent, _Mapping[str, object]]]] = ...) -> None: ...

class DdlResolvedRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DdlResolvedResponse(_message.Message):
    __slots__ = ("error", "ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    ts: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., ts: _Optional[int] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("type", "query", "schema_name", "table_name", "table", "new_schema", "new_name", "split_handles")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    NEW_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    NEW_NAME_FIELD_NUMBER: _ClassVar[int]
    SPLIT_HANDLES_FIELD_NUMBER: _ClassVar[int]
    type: int
    query: str
    schema_name: str
    table_name: str
    table: _schema_pb2.TableSchema
    new_schema: str
    new_name: str
    split_handles: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, type: _Optional[int] = ..., query: _Optional[str] = ..., schema_name: _Optional[str] = ..., table_name: _Optional[str] = ..., table: _Optional[_Union[_schema_pb2.TableSchema, _Mapping[str, object]]] = ..., new_schema: _Optional[str] = ..., new_name: _Optional[str] = ..., split_handles: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("error", "event")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    event: _schema_pb2.DdlEvent
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., event: _Optional[_Union[_schema_pb2.DdlEvent, _Mapping[str, object]]] = ...) -> None: ...

class RegisterServerRequest(_message.Message):
    __slots__ = ("server_id", "address", "incarnation", "folder")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    server_id: int
    address: str
    incarnation: str
    folder: str
    def __init__(self, server_id: _Optional[int] = ..., address: _Optional[str] = ..., incarnation: _Optional[str] = ..., folder: _Optional[str] = ...) -> None: ...

class RegisterServerResponse(_message.Message):
    __slots__ = ("error", "server_id", "dropped_ranges", "dropped_ts", "led_ranges")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_RANGES_FIELD_NUMBER: _ClassVar[int]
    DROPPED_TS_FIELD_NUMBER: _ClassVar[int]
    LED_RANGES_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    server_id: int
    dropped_ranges: _containers.RepeatedScalarFieldContainer[int]
    dropped_ts: _containers.RepeatedScalarFieldContainer[int]
    led_ranges: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., server_id: _Optional[int] = ..., dropped_ranges: _Optional[_Iterable[int]] = ..., dropped_ts: _Optional[_Iterable[int]] = ..., led_ranges: _Optional[_Iterable[int]] = ...) -> None: ...

class RowIdsRequest(_message.Message):
    __slots__ = ("table_id", "count")
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    table_id: int
    count: int
    def __init__(self, table_id: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class RowIdsResponse(_message.Message):
    __slots__ = ("error", "first")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    first: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., first: _Optional[int] = ...) -> None: ...

class SplitRequest(_message.Message):
    __slots__ = ("range_id", "key")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    key: bytes
    def __init__(self, range_id: _Optional[int] = ..., key: _Optional[bytes] = ...) -> None: ...

class MergeRequest(_message.Message):
    __slots__ = ("left", "right")
    LEFT_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    left: int
    right: int
    def __init__(self, left: _Optional[int] = ..., right: _Optional[int] = ...) -> None: ...

class MoveRequest(_message.Message):
    __slots__ = ("range_id", "server_id", "force")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    server_id: int
    force: bool
    def __init__(self, range_id: _Optional[int] = ..., server_id: _Optional[int] = ..., force: _Optional[bool] = ...) -> None: ...

class SettleRequest(_message.Message):
    __slots__ = ("parents", "heirs", "last_ts")
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    HEIRS_FIELD_NUMBER: _ClassVar[int]
    LAST_TS_FIELD_NUMBER: _ClassVar[int]
    parents: _containers.RepeatedScalarFieldContainer[int]
    heirs: _containers.RepeatedCompositeFieldContainer[Route]
    last_ts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, parents: _Optional[_Iterable[int]] = ..., heirs: _Optional[_Iterable[_Union[Route, _Mapping[str, object]]]] = ..., last_ts: _Optional[_Iterable[int]] = ...) -> None: ...

class PlacementResponse(_message.Message):
    __slots__ = ("error", "routes")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    routes: _containers.RepeatedCompositeFieldContainer[Route]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., routes: _Optional[_Iterable[_Union[Route, _Mapping[str, object]]]] = ...) -> None: ...

class ServersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Server(_message.Message):
    __slots__ = ("server_id", "address")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    server_id: int
    address: str
    def __init__(self, server_id: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class ServersResponse(_message.Message):
    __slots__ = ("error", "servers")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    servers: _containers.RepeatedCompositeFieldContainer[Server]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., servers: _Optional[_Iterable[_Union[Server, _Mapping[str, object]]]] = ...) -> None: ...
