from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class RequestHeader(_message.Message):
    __slots__ = ("cluster_id",)
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    cluster_id: int
    def __init__(self, cluster_id: _Optional[int] = ...) -> None: ...

class RangeEpoch(_message.Message):
    __slots__ = ("version", "leader")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    version: int
    leader: int
    def __init__(self, version: _Optional[int] = ..., leader: _Optional[int] = ...) -> None: ...

class CDCError(_message.Message):
    __slots__ = ("code", "kind", "message", "table", "position", "retry_after", "subscription")
    CODE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    code: str
    kind: str
    message: str
    table: str
    position: str
    retry_after: float
    subscription: str
    def __init__(self, code: _Optional[str] = ..., kind: _Optional[str] = ..., message: _Optional[str] = ..., table: _Optional[str] = ..., position: _Optional[str] = ..., retry_after: _Optional[float] = ..., subscription: _Optional[str] = ...) -> None: ...

class CDCSink(_message.Message):
    __slots__ = ("type", "config")
    class ConfigEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    type: str
    config: _containers.ScalarMap[str, str]
    def __init__(self, type: _Optional[str] = ..., config: _Optional[_Mapping[str, str]] = ...) -> None: ...
