"""The key and value schemas of a table version, and what its rows are made of.

A schema is refused, by an EncodeError that names the columns, where Avro cannot carry it: two names that become one
when they are made legal, or a table without a key, whose deletes could not be told. Where only the value's schema
cannot be, deletes can still be sent, so it is refused when a value is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.change.go_json import quote
from tailrace.change.schema import TableSchema
from tailrace.codec.columns import visible
from tailrace.codec.flat_avro.fields import Field, legal
from tailrace.codec.flat_avro.options import FlatAvroOptions
from tailrace.errors import EncodeError

_STAMPS = (("_tidb_op", "string", '""'), ("_tidb_commit_ts", "long", "0"), ("_tidb_commit_physical_time", "long", "0"))
_CHECKSUMS = (
    ("_tidb_row_level_checksum", "string", '""'),
    ("_tidb_corrupted", "boolean", "false"),
    ("_tidb_checksum_version", "int", "0"),
)


def extension_fields(options: FlatAvroOptions) -> tuple[tuple[str, str, str], ...]:
    """Name, type and default of the fields behind the columns of a value."""
    return (_STAMPS if options.enable_tidb_extension else ()) + (_CHECKSUMS if options.enable_row_checksum else ())


@dataclass(frozen=True, slots=True)
class Shape:
    """One table version: its fields in the order of the value schema, the field of each in an image, both schemas.

    `keys` are the numbers of the key's fields among `fields`, in the order of the key schema. `refusal` says why
    there can be no value schema; empty: there is one.
    """

    table: TableSchema
    fields: tuple[Field, ...]
    places: tuple[int, ...]
    keys: tuple[int, ...]
    key_schema: str
    value_schema: str
    refusal: str

    @classmethod
    def of(cls, table: TableSchema, options: FlatAvroOptions) -> Shape:
        try:
            return cls._of(table, options)
        except EncodeError as wrong:
            raise wrong.at(table=table.full_name) from None

    @classmethod
    def _of(cls, table: TableSchema, options: FlatAvroOptions) -> Shape:
        place_of = {column.name: at for at, column in enumerate(table.row_columns)}
        in_table = [Field.of(column, options) for column in visible(table)]
        held = set(table.handle_key)
        key = [field for field in in_table if field.column.name in held]
        if not held or len(key) != len(held):
            missing = sorted(held - {field.column.name for field in key})
            why = f"its key's columns {', '.join(missing)} are left out" if missing else "it has no handle key"
            raise EncodeError(f"the table cannot be written as avro: {why}")
        fields = sorted(in_table, key=lambda field: field.column.id) if options.enable_row_checksum else in_table
        clash = _clash(key, ())
        if clash:
            raise EncodeError(clash)
        head = f'{{"type":"record","name":"{legal(table.name)}","namespace":"{namespace(table, options)}","fields":['
        return cls(
            table,
            tuple(fields),
            tuple(place_of[field.column.name] for field in fields),
            tuple(fields.index(field) for field in key),
            head + ",".join(field.text for field in key) + "]}",
            head + ",".join([*(field.text for field in fields), *_extension(options)]) + "]}",
            _clash(fields, [name for name, _, _ in extension_fields(options)]),
        )

    def schema(self, part: str) -> str:
        """The schema of the part of a message that is named, `key` or `value`. Raises EncodeError."""
        if part == "value" and self.refusal:
            raise EncodeError(self.refusal, table=self.table.full_name)
        return self.key_schema if part == "key" else self.value_schema


def namespace(table: TableSchema, options: FlatAvroOptions) -> str:
    return ".".join(legal(part) for part in (options.namespace, table.schema) if part)


def subject(topic: str, part: str) -> str:
    """Where a topic's schemas are registered; `part` is `key` or `value`."""
    return f"{topic.replace('.', '_')}-{part}"


def _extension(options: FlatAvroOptions) -> list[str]:
    return [
        f'{{"default":{default},"name":{quote(name)},"type":"{kind}"}}'
        for name, kind, default in extension_fields(options)
    ]


def _clash(fields: Sequence[Field], reserved: Sequence[str]) -> str:
    """What is wrong with the fields' names; empty: nothing is."""
    taken = dict.fromkeys(reserved, "a field of the TiDB extension")
    for field in fields:
        if not field.name:
            return "a column without a name cannot be an Avro field"
        if field.name in taken:
            named = f"column {field.column.name} would be the Avro field {field.name}"
            return f"{named}, which is {taken[field.name]} already"
        taken[field.name] = f"column {field.column.name}"
    return ""
