"""Table schemas and DDL events as messages, and back: reading what was written gives an equal value."""

from __future__ import annotations

from typing import Literal, cast

from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import Column, Default, Index, Partition, TableSchema
from tailrace.change.types import ColumnType
from tailrace.proto import schema_pb2 as pb


def table_message(table: TableSchema) -> pb.TableSchema:
    return pb.TableSchema(
        schema=table.schema,
        name=table.name,
        table_id=table.table_id,
        version=table.version,
        columns=[_column_message(column) for column in table.columns],
        indexes=[_index_message(index) for index in table.indexes],
        pk_is_handle=table.pk_is_handle,
        common_handle=table.common_handle,
        partitions=[pb.Partition(id=part.id, name=part.name) for part in table.partitions],
        charset=table.charset,
        collation=table.collation,
        is_view=table.is_view,
    )


def table_of(message: pb.TableSchema) -> TableSchema:
    return TableSchema(
        schema=message.schema,
        name=message.name,
        table_id=message.table_id,
        version=message.version,
        columns=tuple(_column_of(column) for column in message.columns),
        indexes=tuple(_index_of(index) for index in message.indexes),
        pk_is_handle=message.pk_is_handle,
        common_handle=message.common_handle,
        partitions=tuple(Partition(part.id, part.name) for part in message.partitions),
        charset=message.charset,
        collation=message.collation,
        is_view=message.is_view,
    )


def event_message(event: DdlEvent) -> pb.DdlEvent:
    return pb.DdlEvent(
        commit_ts=event.commit_ts,
        start_ts=event.start_ts,
        seq=event.seq,
        type=event.type,
        query=event.query,
        schema_name=event.schema_name,
        table_name=event.table_name,
        table=table_message(event.table) if event.table else None,
        before=table_message(event.before) if event.before else None,
    )


def event_of(message: pb.DdlEvent) -> DdlEvent:
    return DdlEvent(
        commit_ts=message.commit_ts,
        start_ts=message.start_ts,
        seq=message.seq,
        type=message.type,
        query=message.query,
        schema_name=message.schema_name,
        table_name=message.table_name,
        table=table_of(message.table) if message.HasField("table") else None,
        before=table_of(message.before) if message.HasField("before") else None,
    )


def _column_message(column: Column) -> pb.Column:
    return pb.Column(
        id=column.id,
        name=column.name,
        type=_type_message(column.type),
        nullable=column.nullable,
        pk=column.pk,
        default=_value_message(column.default),
        origin_default=_value_message(column.origin_default),
        generated=column.generated,
        hidden=column.hidden,
    )


def _column_of(message: pb.Column) -> Column:
    return Column(
        id=message.id,
        name=message.name,
        type=_type_of(message.type),
        nullable=message.nullable,
        pk=message.pk,
        default=_value_of(message.default),
        origin_default=_value_of(message.origin_default),
        generated=cast(Literal["", "virtual", "stored"], message.generated),
        hidden=message.hidden,
    )


def _type_message(kind: ColumnType) -> pb.ColumnType:
    return pb.ColumnType(
        name=kind.name,
        length=kind.length,
        scale=kind.scale,
        unsigned=kind.unsigned,
        zerofill=kind.zerofill,
        charset=kind.charset,
        collation=kind.collation,
        elems=kind.elems,
    )


def _type_of(message: pb.ColumnType) -> ColumnType:
    return ColumnType(
        name=message.name,
        length=message.length,
        scale=message.scale,
        unsigned=message.unsigned,
        zerofill=message.zerofill,
        charset=message.charset,
        collation=message.collation,
        elems=tuple(message.elems),
    )


def _index_message(index: Index) -> pb.Index:
    return pb.Index(
        id=index.id,
        name=index.name,
        columns=index.columns,
        unique=index.unique,
        primary=index.primary,
        prefixes=index.prefixes,
    )


def _index_of(message: pb.Index) -> Index:
    return Index(
        message.id, message.name, tuple(message.columns), message.unique, message.primary, tuple(message.prefixes)
    )


def _value_message(value: Default) -> pb.Value:
    if isinstance(value, str):
        return pb.Value(text=value)
    if isinstance(value, bytes):
        return pb.Value(binary=value)
    if isinstance(value, float):
        return pb.Value(real=value)
    if isinstance(value, int):
        return pb.Value(unsigned=value) if value >= 1 << 63 else pb.Value(integer=value)
    return pb.Value()


def _value_of(message: pb.Value) -> Default:
    kind = message.WhichOneof("value")
    return None if kind is None else cast(Default, getattr(message, kind))
