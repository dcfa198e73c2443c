from tailrace.proto import base_pb2 as _base_pb2
from tailrace.proto import cdc_pb2 as _cdc_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateRangeRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "table_id", "physical_id", "start", "end", "created_ts", "common_handle")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    PHYSICAL_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    CREATED_TS_FIELD_NUMBER: _ClassVar[int]
    COMMON_HANDLE_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    table_id: int
    physical_id: int
    start: bytes
    end: bytes
    created_ts: int
    common_handle: bool
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., table_id: _Optional[int] = ..., physical_id: _Optional[int] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., created_ts: _Optional[int] = ..., common_handle: _Optional[bool] = ...) -> None: ...

class DropRangeRequest(_message.Message):
    __slots__ = ("range_id", "dropped_ts")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_TS_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    dropped_ts: int
    def __init__(self, range_id: _Optional[int] = ..., dropped_ts: _Optional[int] = ...) -> None: ...

class RangeResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ...) -> None: ...

class PrewriteRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "start_ts", "sequence", "primary_range", "ttl_ms", "page")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_RANGE_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    start_ts: int
    sequence: int
    primary_range: int
    ttl_ms: int
    page: _cdc_pb2.Page
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., start_ts: _Optional[int] = ..., sequence: _Optional[int] = ..., primary_range: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., page: _Optional[_Union[_cdc_pb2.Page, _Mapping[str, object]]] = ...) -> None: ...

class PrewriteResponse(_message.Message):
    __slots__ = ("error", "min_commit_ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MIN_COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    min_commit_ts: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., min_commit_ts: _Optional[int] = ...) -> None: ...

class CommitRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "start_ts", "commit_ts")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    start_ts: int
    commit_ts: int
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., start_ts: _Optional[int] = ..., commit_ts: _Optional[int] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "start_ts")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    start_ts: int
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., start_ts: _Optional[int] = ...) -> None: ...

class TxnResponse(_message.Message):
    __slots__ = ("error", "commit_ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    commit_ts: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., commit_ts: _Optional[int] = ...) -> None: ...

class CheckTxnRequest(_message.Message):
    __slots__ = ("range_id", "start_ts", "extend_ms")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    EXTEND_MS_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    start_ts: int
    extend_ms: int
    def __init__(self, range_id: _Optional[int] = ..., start_ts: _Optional[int] = ..., extend_ms: _Optional[int] = ...) -> None: ...

class CheckTxnResponse(_message.Message):
    __slots__ = ("error", "open", "commit_ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    open: bool
    commit_ts: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., open: _Optional[bool] = ..., commit_ts: _Optional[int] = ...) -> None: ...

class WriteRequest(_message.Message):
    __slots__ = ("range_id", "range_epoch", "start_ts", "each", "table_id", "page")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    RANGE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    EACH_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    range_epoch: _base_pb2.RangeEpoch
    start_ts: int
    each: bool
    table_id: int
    page: _cdc_pb2.Page
    def __init__(self, range_id: _Optional[int] = ..., range_epoch: _Optional[_Union[_base_pb2.RangeEpoch, _Mapping[str, object]]] = ..., start_ts: _Optional[int] = ..., each: _Optional[bool] = ..., table_id: _Optional[int] = ..., page: _Optional[_Union[_cdc_pb2.Page, _Mapping[str, object]]] = ...) -> None: ...

class WriteResponse(_message.Message):
    __slots__ = ("error", "commit_ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    commit_ts: int
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., commit_ts: _Optional[int] = ...) -> None: ...

class SucceedRequest(_message.Message):
    __slots__ = ("parents", "heirs")
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    HEIRS_FIELD_NUMBER: _ClassVar[int]
    parents: _containers.RepeatedScalarFieldContainer[int]
    heirs: _containers.RepeatedCompositeFieldContainer[Heir]
    def __init__(self, parents: _Optional[_Iterable[int]] = ..., heirs: _Optional[_Iterable[_Union[Heir, _Mapping[str, object]]]] = ...) -> None: ...

class Heir(_message.Message):
    __slots__ = ("range_id", "start", "end", "epoch_version", "epoch_leader")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    EPOCH_VERSION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_LEADER_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    start: bytes
    end: bytes
    epoch_version: int
    epoch_leader: int
    def __init__(self, range_id: _Optional[int] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., epoch_version: _Optional[int] = ..., epoch_leader: _Optional[int] = ...) -> None: ...

class SucceedResponse(_message.Message):
    __slots__ = ("error", "heirs", "last_ts")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    HEIRS_FIELD_NUMBER: _ClassVar[int]
    LAST_TS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    heirs: _containers.RepeatedCompositeFieldContainer[Heir]
    last_ts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., heirs: _Optional[_Iterable[_Union[Heir, _Mapping[str, object]]]] = ..., last_ts: _Optional[_Iterable[int]] = ...) -> None: ...

class YieldRequest(_message.Message):
    __slots__ = ("range_id",)
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    def __init__(self, range_id: _Optional[int] = ...) -> None: ...

class AdoptRequest(_message.Message):
    __slots__ = ("range_id", "folder", "epoch_leader", "seal")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_LEADER_FIELD_NUMBER: _ClassVar[int]
    SEAL_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    folder: str
    epoch_leader: int
    seal: bool
    def __init__(self, range_id: _Optional[int] = ..., folder: _Optional[str] = ..., epoch_leader: _Optional[int] = ..., seal: _Optional[bool] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("range_id", "middle")
    RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    MIDDLE_FIELD_NUMBER: _ClassVar[int]
    range_id: int
    middle: bool
    def __init__(self, range_id: _Optional[int] = ..., middle: _Optional[bool] = ...) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("error", "rows", "middle_key", "resolved_ts", "log_pages", "open_transactions", "subscribers")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    MIDDLE_KEY_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_TS_FIELD_NUMBER: _ClassVar[int]
    LOG_PAGES_FIELD_NUMBER: _ClassVar[int]
    OPEN_TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBERS_FIELD_NUMBER: _ClassVar[int]
    error: _base_pb2.CDCError
    rows: int
    middle_key: bytes
    resolved_ts: int
    log_pages: int
    open_transactions: int
    subscribers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, error: _Optional[_Union[_base_pb2.CDCError, _Mapping[str, object]]] = ..., rows: _Optional[int] = ..., middle_key: _Optional[bytes] = ..., resolved_ts: _Optional[int] = ..., log_pages: _Optional[int] = ..., open_transactions: _Optional[int] = ..., subscribers: _Optional[_Iterable[str]] = ...) -> None: ...
