from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Value(_message.Message):
    __slots__ = ("text", "binary", "integer", "real", "unsigned")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    REAL_FIELD_NUMBER: _ClassVar[int]
    UNSIGNED_FIELD_NUMBER: _ClassVar[int]
    text: str
    binary: bytes
    integer: int
    real: float
    unsigned: int
    def __init__(self, text: _Optional[str] = ..., binary: _Optional[bytes] = ..., integer: _Optional[int] = ..., real: _Optional[float] = ..., unsigned: _Optional[int] = ...) -> None: ...

class ColumnType(_message.Message):
    __slots__ = ("name", "length", "scale", "unsigned", "zerofill", "charset", "collation", "elems")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    UNSIGNED_FIELD_NUMBER: _ClassVar[int]
    ZEROFILL_FIELD_NUMBER: _ClassVar[int]
    CHARSET_FIELD_NUMBER: _ClassVar[int]
    COLLATION_FIELD_NUMBER: _ClassVar[int]
    ELEMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    length: int
    scale: int
    unsigned: bool
    zerofill: bool
    charset: str
    collation: str
    elems: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., length: _Optional[int] = ..., scale: _Optional[int] = ..., unsigned: _Optional[bool] = ..., zerofill: _Optional[bool] = ..., charset: _Optional[str] = ..., collation: _Optional[str] = ..., elems: _Optional[_Iterable[str]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("id", "name", "type", "nullable", "pk", "default", "origin_default", "generated", "hidden")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    PK_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    GENERATED_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    type: ColumnType
    nullable: bool
    pk: bool
    default: Value
    origin_default: Value
    generated: str
    hidden: bool
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ..., type: _Optional[_Union[ColumnType, _Mapping[str, object]]] = ..., nullable: _Optional[bool] = ..., pk: _Optional[bool] = ..., default: _Optional[_Union[Value, _Mapping[str, object]]] = ..., origin_default: _Optional[_Union[Value, _Mapping[str, object]]] = ..., generated: _Optional[str] = ..., hidden: _Optional[bool] = ...) -> None: ...

class Index(_message.Message):
    __slots__ = ("id", "name", "columns", "unique", "primary", "prefixes")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_FIELD_NUMBER: _ClassVar[int]
    PREFIXES_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    unique: bool
    primary: bool
    prefixes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., unique: _Optional[bool] = ..., primary: _Optional[bool] = ..., prefixes: _Optional[_Iterable[int]] = ...) -> None: ...

class Partition(_message.Message):
    __slots__ = ("id", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class TableSchema(_message.Message):
    __slots__ = ("schema", "name", "table_id", "version", "columns", "indexes", "pk_is_handle", "common_handle", "partitions", "charset", "collation", "is_view")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    INDEXES_FIELD_NUMBER: _ClassVar[int]
    PK_IS_HANDLE_FIELD_NUMBER: _ClassVar[int]
    COMMON_HANDLE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CHARSET_FIELD_NUMBER: _ClassVar[int]
    COLLATION_FIELD_NUMBER: _ClassVar[int]
    IS_VIEW_FIELD_NUMBER: _ClassVar[int]
    schema: str
    name: str
    table_id: int
    version: int
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    indexes: _containers.RepeatedCompositeFieldContainer[Index]
    pk_is_handle: bool
    common_handle: bool
    partitions: _containers.RepeatedCompositeFieldContainer[Partition]
    charset: str
    collation: str
    is_view: bool
    def __init__(self, schema: _Optional[str] = ..., name: _Optional[str] = ..., table_id: _Optional[int] = ..., version: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping[str, object]]]] = ..., indexes: _Optional[_Iterable[_Union[Index, _Mapping[str, object]]]] = ..., pk_is_handle: _Optional[bool] = ..., common_handle: _Optional[bool] = ..., partitions: _Optional[_Iterable[_Union[Partition, _Mapping[str, object]]]] = ..., charset: _Optional[str] = ..., collation: _Optional[str] = ..., is_view: _Optional[bool] = ...) -> None: ...

class DdlEvent(_message.Message):
    __slots__ = ("commit_ts", "start_ts", "seq", "type", "query", "schema_name", "table_name", "table", "before")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    START_TS_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    start_ts: int
    seq: int
    type: int
    query: str
    schema_name: str
    table_name: str
    table: TableSchema
    before: TableSchema
    def __init__(self, commit_ts: _Optional[int] = ..., start_ts: _Optional[int] = ..., seq: _Optional[int] = ..., type: _Optional[int] = ..., query: _Optional[str] = ..., schema_name: _Optional[str] = ..., table_name: _Optional[str] = ..., table: _Optional[_Union[TableSchema, _Mapping[str, object]]] = ..., before: _Optional[_Union[TableSchema, _Mapping[str, object]]] = ...) -> None: ...
