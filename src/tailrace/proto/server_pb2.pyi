from tailrace.proto import base_pb2 as _base_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CDCSubscriber(_message.Message):
    __slots__ = ("name", "upstream", "sink", "tables", "rules", "start", "end_ts", "time_zone", "state", "error", "owner", "epoch", "created_ms", "cut", "checkpoint_ts", "report", "report_age_ms", "case_sensitive", "warnings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    SINK_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_TS_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREATED_MS_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_TS_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    REPORT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    CASE_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    upstream: str
    sink: str
    tables: _containers.RepeatedScalarFieldContainer[str]
    rules: _containers.RepeatedScalarFieldContainer[str]
    start: str
    end_ts: int
    time_zone: str
    state: str
    error: _base_pb2.CDCError
    owner: str
    epoch: int
    created_ms: int
    cut: int
    checkpoint_ts: int
    report: CDCReport
    report_age_ms: int
    case_sensitive: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., upstream: _Optional[str] = ..., sink: _Optional[str] = ..., tables: _Optional[_Iterable[str]] = ..., rules: _Optional[_Iterable[str]] = ..., start: _Optional[str] = ..., end_ts: _Optional[int] = ..., time_zone: _Optional[str] = ..., state: _Optional[str] = ..., error: _Optional[_Union[_base_pb2.CDCError, _Mapping]] = ..., owner: _Optional[str] = ..., epoch: _Optional[int] = ..., created_ms: _Optional[int] = ..., cut: _Optional[int] = ..., checkpoint_ts: _Optional[int] = ..., report: _Optional[_Union[CDCReport, _Mapping]] = ..., report_age_ms: _Optional[int] = ..., case_sensitive: _Optional[bool] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class CDCReport(_message.Message):
    __slots__ = ("rows", "bytes", "cuts", "rows_per_second", "ranges", "snapshot_ranges_left", "snapshot_rows", "snapshot_rows_total", "to_ts", "resolved_ts", "lag_seconds")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    CUTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_RANGES_LEFT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ROWS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ROWS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    TO_TS_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_TS_FIELD_NUMBER: _ClassVar[int]
    LAG_SECONDS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    bytes: int
    cuts: int
    rows_per_second: float
    ranges: int
    snapshot_ranges_left: int
    snapshot_rows: int
    snapshot_rows_total: int
    to_ts: int
    resolved_ts: int
    lag_seconds: float
    def __init__(self, rows: _Optional[int] = ..., bytes: _Optional[int] = ..., cuts: _Optional[int] = ..., rows_per_second: _Optional[float] = ..., ranges: _Optional[int] = ..., snapshot_ranges_left: _Optional[int] = ..., snapshot_rows: _Optional[int] = ..., snapshot_rows_total: _Optional[int] = ..., to_ts: _Optional[int] = ..., resolved_ts: _Optional[int] = ..., lag_seconds: _Optional[float] = ...) -> None: ...

class SubscribeCDCRequest(_message.Message):
    __slots__ = ("header", "db_name", "table_name", "subscriber_name", "sink", "upstream", "sink_uri", "config", "rules", "start", "end", "time_zone")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DB_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    SINK_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    SINK_URI_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    header: _base_pb2.RequestHeader
    db_name: str
    table_name: str
    subscriber_name: str
    sink: _base_pb2.CDCSink
    upstream: str
    sink_uri: str
    config: str
    rules: _containers.RepeatedScalarFieldContainer[str]
    start: str
    end: str
    time_zone: str
    def __init__(self, header: _Optional[_Union[_base_pb2.RequestHeader, _Mapping]] = ..., db_name: _Optional[str] = ..., table_name: _Optional[str] = ..., subscriber_name: _Optional[str] = ..., sink: _Optional[_Union[_base_pb2.CDCSink, _Mapping]] = ..., upstream: _Optional[str] = ..., sink_uri: _Optional[str] = ..., config: _Optional[str] = ..., rules: _Optional[_Iterable[str]] = ..., start: _Optional[str] = ..., end: _Optional[str] = ..., time_zone: _Optional[str] = ...) -> None: ...

class SubscribeCDCResponse(_message.Message):
    __slots__ = ("subscriber", "error")
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    subscriber: CDCSubscriber
    error: _base_pb2.CDCError
    def __init__(self, subscriber: _Optional[_Union[CDCSubscriber, _Mapping]] = ..., error: _Optional[_Union[_base_pb2.CDCError, _Mapping]] = ...) -> None: ...

class CancelCDCRequest(_message.Message):
    __slots__ = ("header", "db_name", "table_name", "subscriber_name")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DB_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    header: _base_pb2.RequestHeader
    db_name: str
    table_name: str
    subscriber_name: str
    def __init__(self, header: _Optional[_Union[_base_pb2.RequestHeader, _Mapping]] = ..., db_name: _Optional[str] = ..., table_name: _Optional[str] = ..., subscriber_name: _Optional[str] = ...) -> None: ...

class CancelCDCResponse(_message.Message):
    __slots__ = ("subscriber", "error")
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    subscriber: CDCSubscriber
    error: _base_pb2.CDCError
    def __init__(self, subscriber: _Optional[_Union[CDCSubscriber, _Mapping]] = ..., error: _Optional[_Union[_base_pb2.CDCError, _Mapping]] = ...) -> None: ...

class ListCDCRequest(_message.Message):
    __slots__ = ("header", "subscriber_name")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    header: _base_pb2.RequestHeader
    subscriber_name: str
    def __init__(self, header: _Optional[_Union[_base_pb2.RequestHeader, _Mapping]] = ..., subscriber_name: _Optional[str] = ...) -> None: ...

class ListCDCResponse(_message.Message):
    __slots__ = ("subscribers", "error")
    SUBSCRIBERS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    subscribers: _containers.RepeatedCompositeFieldContainer[CDCSubscriber]
    error: _base_pb2.CDCError
    def __init__(self, subscribers: _Optional[_Iterable[_Union[CDCSubscriber, _Mapping]]] = ..., error: _Optional[_Union[_base_pb2.CDCError, _Mapping]] = ...) -> None: ...
