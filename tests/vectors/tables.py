"""Golden tables and rows to Tailrace's own values: what every check of the vectors begins with.

The documents are described in the vectors' FORMAT.md. Rows are walked one by one here: this is a test aid, not a path
that data takes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Default, Index, Partition, TableSchema
from tailrace.change.types import ColumnType

Document = Mapping[str, Any]
ROW_ID = "_tidb_rowid"
_OPS = {"insert": INSERT, "update": UPDATE, "delete": DELETE}


def table_schema(document: Document) -> TableSchema:
    """The table of a case's table document."""
    return TableSchema(
        schema=document["schema"],
        name=document["table"],
        table_id=document["table_id"],
        version=document["version"],
        columns=tuple(_column(each) for each in document["columns"]),
        indexes=tuple(_index(each) for each in document["indexes"]),
        pk_is_handle=document["pk_is_handle"],
        common_handle=document["is_common_handle"],
        partitions=tuple(
            Partition(each["id"], each["name"]) for each in (document.get("partitions") or {}).get("definitions", ())
        ),
        charset=document["charset"],
        collation=document["collation"],
        is_view=document["is_view"],
    )


def with_row_id(table: TableSchema) -> TableSchema:
    """The same table with the hidden row id as its last column, where that is what identifies a row."""
    if table.pk_is_handle or table.common_handle:
        return table
    hidden = Column(-1, ROW_ID, ColumnType("bigint", 20, 0), nullable=False, hidden=True)
    return replace(table, columns=(*table.columns, hidden))


def _column(document: Document) -> Column:
    kind = parse_type(document["mysql_type"], document["charset"], document["collation"])
    if (kind.length, kind.scale) != (document["flen"], document["decimal"]):
        raise AssertionError(f"{document['mysql_type']} became {kind}")
    return Column(
        id=document["id"],
        name=document["name"],
        type=kind,
        nullable=document["nullable"],
        pk=document["pk"],
        default=_default(document["default"]),
        origin_default=_default(document["origin_default"]),
        generated=document.get("generated", ""),
    )


def _default(value: Any) -> Default:
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value


def _index(document: Document) -> Index:
    return Index(
        id=document["id"],
        name=document["name"],
        columns=tuple(each["name"] for each in document["columns"]),
        unique=document["unique"],
        primary=document["primary"],
        prefixes=tuple(each["prefix_length"] for each in document["columns"]),
    )


def change_batch(table: TableSchema, events: Sequence[Document]) -> ChangeBatch:
    """The events as one batch, in their order."""
    columns = [
        pa.array(np.array([_OPS[event["op"]] for event in events], np.uint8)),
        pa.array([event["commit_ts"] for event in events], pa.int64()),
        pa.array([event["start_ts"] for event in events], pa.int64()),
        image_array(table, [_image(event, "after") for event in events]),
        image_array(table, [_image(event, "before") for event in events]),
    ]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


def _image(event: Document, which: str) -> Document | None:
    image = event[which]
    return None if image is None else {**image, ROW_ID: str(event.get("row_id", "0"))}


def image_array(table: TableSchema, images: Sequence[Document | None]) -> pa.StructArray:
    """Images (column name to value, or None where there is none) as an array of the table's struct."""
    arrays = [
        pa.array([_value(image and image[column.name], column) for image in images], column.type.arrow)
        for column in table.row_columns
    ]
    mask = pa.array([image is None for image in images], pa.bool_())
    return pa.StructArray.from_arrays(arrays, fields=list(table.arrow_struct), mask=mask)


def _value(value: Any, column: Column) -> Any:
    """A document's value as what Arrow's constructor takes for the column's type."""
    if value is None:
        return None
    if isinstance(value, dict):
        for key in ("enum", "set"):
            if key in value:
                return int(value[key])
        return base64.b64decode(value["base64"])
    arrow = column.type.arrow
    if pa.types.is_integer(arrow):
        return int(value)
    if pa.types.is_float32(arrow):
        return np.float32(value)
    return float(value) if pa.types.is_float64(arrow) else value
