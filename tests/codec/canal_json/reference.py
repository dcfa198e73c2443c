"""Canal-json as one would write it row by row: the obvious code that kernels are held against."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.go_json import quote
from tailrace.change.parse import type_text
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.codec.canal_json import CanalJsonOptions
from tests.codec.csv.reference import Image, Row

NOW = 1_700_000_000_123
_CODES = {
    "tinyint": (-6, 5, 127),
    "smallint": (5, 4, 32767),
    "int": (4, -5, 2147483647),
    "bigint": (-5, 3, 9223372036854775807),
}
_OTHERS = {"mediumint": 4, "float": 7, "double": 8, "decimal": 3, "char": 1, "bit": -7, "set": -7, "enum": 4}
_OTHERS |= {"date": 91, "time": 92, "datetime": 93, "timestamp": 93, "longtext": 2005}


def code(kind: ColumnType, value: Any) -> int:
    if kind.name in _CODES:
        low, high, limit = _CODES[kind.name]
        return high if kind.unsigned and value is not None and value > limit else low
    return 2004 if kind.is_binary else _OTHERS.get(kind.name, 12)


def type_name(kind: ColumnType, options: CanalJsonOptions) -> str:
    return type_text(kind) if options.content_compatible else kind.name + " unsigned" * kind.unsigned


def text(value: Any, kind: ColumnType) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        shown = format(Decimal(str(np.float32(value)) if kind.name == "float" else repr(value)), "f")
        shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
        return quote(shown)
    return quote(value.decode("latin-1")) if isinstance(value, bytes) else quote(str(value))


def image_text(image: Image, columns: Sequence[Column]) -> str:
    assert image is not None
    cells = (f"{quote(column.name)}:{text(image[column.name], column.type)}" for column in columns)
    return "[{" + ",".join(cells) + "}]"


def line(table: TableSchema, row: Row, options: CanalJsonOptions, only_keys: bool = False) -> str:
    """A row without its terminator; `only_keys` as in a message that was too large."""
    columns = list(table.row_columns)
    keys = [column for column in columns if column.name in table.handle_key]
    trimmed = only_keys or (row.op == DELETE and options.delete_only_output_handle_key_columns)
    shown = keys if trimmed else columns
    image = row.before if row.op == DELETE else row.after
    assert image is not None
    old = "null"
    if row.op == UPDATE:
        before, after = row.before or {}, row.after or {}
        partial = options.only_output_updated_columns or options.content_compatible
        old = image_text(before, [each for each in shown if not partial or before[each.name] != after[each.name]])
    codes = ",".join(f"{quote(each.name)}:{code(each.type, image[each.name])}" for each in shown)
    types = ",".join(f"{quote(each.name)}:{quote(type_name(each.type, options))}" for each in shown)
    whole = (
        f'{{"id":0,"database":{quote(table.schema)},"table":{quote(table.name)},'
        f'"pkNames":[{",".join(quote(each.name) for each in columns if each.pk)}],"isDdl":false,'
        f'"type":"{("INSERT", "UPDATE", "DELETE")[row.op]}","es":{row.commit_ts >> 18},"ts":{NOW},"sql":"",'
        f'"sqlType":{"{" + codes + "}" if shown else "null"},"mysqlType":{{{types}}},'
        f'"old":{old},"data":{image_text(image, shown)}'
    )
    if options.enable_tidb_extension:
        whole += f',"_tidb":{{"commitTs":{row.commit_ts}' + ',"onlyHandleKey":true' * only_keys + "}"
    return whole + "}"


def written(table: TableSchema, rows: Sequence[Row], options: CanalJsonOptions) -> bytes:
    return "".join(line(table, row, options) + options.terminator for row in rows).encode()


def carried(table: TableSchema, rows: Sequence[Row], options: CanalJsonOptions) -> list[Row]:
    """What of the rows the form carries."""
    found = []
    for row in rows:
        before = row.before
        if row.op == DELETE and before is not None and options.delete_only_output_handle_key_columns:
            before = {name: value if name in table.handle_key else None for name, value in before.items()}
        stamp = row.commit_ts if options.enable_tidb_extension else row.commit_ts >> 18 << 18
        found.append(Row(row.op, stamp, before, row.after))
    return found


OPTIONS = st.builds(
    CanalJsonOptions,
    enable_tidb_extension=st.booleans(),
    content_compatible=st.booleans(),
    only_output_updated_columns=st.booleans(),
    delete_only_output_handle_key_columns=st.booleans(),
    terminator=st.sampled_from(["\r\n", "\n", "|\n|", "\t"]),
)
OPS = (INSERT, UPDATE, DELETE)
