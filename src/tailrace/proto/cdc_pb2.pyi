from tailrace.proto import base_pb2 as _base_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CdcRegisterRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "subscriber_name", "at")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    subscriber_name: str
    at: int
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., subscriber_name: _Optional[str] = ..., at: _Optional[int] = ...) -> None: ...

class CdcRegisterResponse(_message.Message):
    __slots__ = ("init_snapshot_version", "error", "log_index")
    INIT_SNAPSHOT_VERSION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    init_snapshot_version: int
    error: _base_pb2.CDCError
    log_index: int
    def __init__(self, init_snapshot_version: _Optional[int] = ..., error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., log_index: _Optional[int] = ...) -> None: ...

class CdcReleaseRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "subscriber_name", "upto")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    UPTO_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    subscriber_name: str
    upto: int
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., subscriber_name: _Optional[str] = ..., upto: _Optional[int] = ...) -> None: ...

class CdcReleaseResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ...) -> None: ...

class CdcChangeData(_message.Message):
    __slots__ = ("type", "key", "value", "commit_ts", "start_ts", "old_value", "has_old_value")
    class ChangeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WRITE: _ClassVar[CdcChangeData.ChangeType]
        DELETE: _ClassVar[CdcChangeData.ChangeType]
    WRITE: CdcChangeData.ChangeType
    DELETE: CdcChangeData.ChangeType
    TYPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    OLD_VALUE_FIELD_NUMBER: _ClassVar[int]
    HAS_OLD_VALUE_FIELD_NUMBER: _ClassVar[int]
    type: CdcChangeData.ChangeType
    key: bytes
    value: bytes
    commit_ts: int
    start_ts: int
    old_value: bytes
    has_old_value: bool
    def __init__(self, type: _Optional[_Union[CdcChangeData.ChangeType, str]] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., commit_ts: _Optional[int] = ..., start_ts: _Optional[int] = ..., old_value: _Optional[bytes] = ..., has_old_value: _Optional[bool] = ...) -> None: ...

class Page(_message.Message):
    __slots__ = ("schema_version", "rows", "commit_ts", "start_ts", "arrow", "step")
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    ARROW_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    schema_version: int
    rows: int
    commit_ts: int
    start_ts: int
    arrow: bytes
    step: int
    def __init__(self, schema_version: _Optional[int] = ..., rows: _Optional[int] = ..., commit_ts: _Optional[int] = ..., start_ts: _Optional[int] = ..., arrow: _Optional[bytes] = ..., step: _Optional[int] = ...) -> None: ...

class CdcPullSnapshotRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "subscriber_name", "current_snapshot_version", "last_key", "end_key", "limit_rows", "columnar", "start_key")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    CURRENT_SNAPSHOT_VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_KEY_FIELD_NUMBER: _ClassVar[int]
    END_KEY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMNAR_FIELD_NUMBER: _ClassVar[int]
    START_KEY_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    subscriber_name: str
    current_snapshot_version: int
    last_key: bytes
    end_key: bytes
    limit_rows: int
    columnar: bool
    start_key: bytes
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., subscriber_name: _Optional[str] = ..., current_snapshot_version: _Optional[int] = ..., last_key: _Optional[bytes] = ..., end_key: _Optional[bytes] = ..., limit_rows: _Optional[int] = ..., columnar: _Optional[bool] = ..., start_key: _Optional[bytes] = ...) -> None: ...

class CdcPullSnapshotResponse(_message.Message):
    __slots__ = ("error", "current_snapshot_version", "snapshot_data", "end", "pages", "last_key")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CURRENT_SNAPSHOT_VERSION_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    LAST_KEY_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    current_snapshot_version: int
    snapshot_data: _containers.RepeatedCompositeFieldContainer[CdcChangeData]
    end: bool
    pages: _containers.RepeatedCompositeFieldContainer[Page]
    last_key: bytes
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., current_snapshot_version: _Optional[int] = ..., snapshot_data: _Optional[_Iterable[_Union[CdcChangeData, _Mapping[str, object]]]] = ..., end: _Optional[bool] = ..., pages: _Optional[_Iterable[_Union[Page, _Mapping[str, object]]]] = ..., last_key: _Optional[bytes] = ...) -> None: ...

class CdcPullLogRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "subscriber_name", "last_log_index", "from_ts", "upto_ts", "limit_bytes", "token", "columnar")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_NAME_FIELD_NUMBER: _ClassVar[int]
    LAST_LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    FROM_TS_FIELD_NUMBER: _ClassVar[int]
    UPTO_TS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    COLUMNAR_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    subscriber_name: str
    last_log_index: int
    from_ts: int
    upto_ts: int
    limit_bytes: int
    token: bytes
    columnar: bool
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., subscriber_name: _Optional[str] = ..., last_log_index: _Optional[int] = ..., from_ts: _Optional[int] = ..., upto_ts: _Optional[int] = ..., limit_bytes: _Optional[int] = ..., token: _Optional[bytes] = ..., columnar: _Optional[bool] = ...) -> None: ...

class CdcPullLogResponse(_message.Message):
    __slots__ = ("error", "log_data", "current_log_index", "pages", "next", "from_ts", "upto_ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LOG_DATA_FIELD_NUMBER: _ClassVar[int]
    CURRENT_LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    FROM_TS_FIELD_NUMBER: _ClassVar[int]
    UPTO_TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    log_data: _containers.RepeatedCompositeFieldContainer[CdcChangeData]
    current_log_index: int
    pages: _containers.RepeatedCompositeFieldContainer[Page]
    next: bytes
    from_ts: int
    upto_ts: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., log_data: _Optional[_Iterable[_Union[CdcChangeData, _Mapping[str, object]]]] = ..., current_log_index: _Optional[int] = ..., pages: _Optional[_Iterable[_Union[Page, _Mapping[str, object]]]] = ..., next: _Optional[bytes] = ..., from_ts: _Optional[int] = ..., upto_ts: _Optional[int] = ...) -> None: ...

class Mark(_message.Message):
    __slots__ = ("range_id", "range_epoch", "from_index", "from_ts", "closed")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    FROM_INDEX_FIELD_NUMBER: _ClassVar[int]
    FROM_TS_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    from_index: int
    from_ts: int
    closed: bool
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., from_index: _Optional[int] = ..., from_ts: _Optional[int] = ..., closed: _Optional[bool] = ...) -> None: ...

class CdcFrontierRequest(_message.Message):
    __slots__ = ("marks", "wait_s")
    MARKS_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    marks: _containers.RepeatedCompositeFieldContainer[Mark]
    wait_s: float
    def __init__(self, marks: _Optional[_Iterable[_Union[Mark, _Mapping[str, object]]]] = ..., wait_s: _Optional[float] = ...) -> None: ...

class Frontier(_message.Message):
    __slots__ = ("range_id", "resolved_ts", "next_index", "bucket_ts", "bucket_rows", "bucket_bytes", "error", "heirs")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_TS_FIELD_NUMBER: _ClassVar[int]
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    BUCKET_TS_FIELD_NUMBER: _ClassVar[int]
    BUCKET_ROWS_FIELD_NUMBER: _ClassVar[int]
    BUCKET_BYTES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    HEIRS_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    resolved_ts: int
    next_index: int
    bucket_ts: _containers.RepeatedScalarFieldContainer[int]
    bucket_rows: _containers.RepeatedScalarFieldContainer[int]
    bucket_bytes: _containers.RepeatedScalarFieldContainer[int]
    error: _base_pb2.CDCError
    heirs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, range_id: _Optional[int] = ..., resolved_ts: _Optional[int] = ..., next_index: _Optional[int] = ..., bucket_ts: _Optional[_Iterable[int]] = ..., bucket_rows: _Optional[_Iterable[int]] = ..., bucket_bytes: _Optional[_Iterable[int]] = ..., error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., heirs: _Optional[_Iterable[int]] = ...) -> None: ...

class CdcFrontierResponse(_message.Message):
    __slots__ = ("error", "frontiers")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FRONTIERS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    frontiers: _containers.RepeatedCompositeFieldContainer[Frontier]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., frontiers: _Optional[_Iterable[_Union[Frontier, _Mapping[str, object]]]] = ...) -> None: ...
