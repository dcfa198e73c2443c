"""What open-protocol says of a column: its type's number and the sum of its flags."""

from __future__ import annotations

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType

CODES = {
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "float": 4,
    "double": 5,
    "timestamp": 7,
    "bigint": 8,
    "mediumint": 9,
    "date": 10,
    "time": 11,
    "datetime": 12,
    "year": 13,
    "varchar": 15,
    "varbinary": 15,
    "bit": 16,
    "vector": 225,
    "json": 245,
    "decimal": 246,
    "enum": 247,
    "set": 248,
    "tinytext": 249,
    "tinyblob": 249,
    "mediumtext": 250,
    "mediumblob": 250,
    "longtext": 251,
    "longblob": 251,
    "text": 252,
    "blob": 252,
    "var_string": 253,
    "char": 254,
    "binary": 254,
}
BINARY, HANDLE_KEY, GENERATED, PRIMARY_KEY, UNIQUE_KEY, MULTIPLE_KEY, NULLABLE, UNSIGNED = (1 << at for at in range(8))


def flags(table: TableSchema, column: Column) -> int:
    """The sum that stands at `f`."""
    indexes = [index for index in table.indexes if column.name in index.columns]
    said = {
        BINARY: column.type.charset in ("", "binary"),
        HANDLE_KEY: column.name in table.handle_key,
        GENERATED: column.generated == "stored",
        PRIMARY_KEY: column.pk,
        UNIQUE_KEY: any(index.unique and not index.primary for index in indexes),
        MULTIPLE_KEY: any(len(index.columns) > 1 or not index.unique for index in indexes),
        NULLABLE: column.nullable,
        UNSIGNED: column.type.unsigned or column.type.name in ("bit", "year"),
    }
    return sum(flag for flag, there in said.items() if there)


def column_type(code: int, flag: int) -> ColumnType | None:
    """The type that a number and flags mean, of unknown length; None: no type has this number.

    Whether bytes or text: the binary flag says so, and it is also on every type that is neither.
    """
    binary = bool(flag & BINARY)
    names = [name for name, number in CODES.items() if number == code]
    if not names:
        return None
    bytes_name = next((name for name in names if name.endswith(("blob", "binary"))), names[0])
    text_name = next((name for name in names if name != bytes_name), bytes_name)
    name = bytes_name if binary else text_name
    charset = "binary" if name.endswith(("blob", "binary")) else "" if binary else "utf8mb4"
    unsigned = bool(flag & UNSIGNED) and name not in ("bit", "year")
    return ColumnType(name, 64 if name == "bit" else -1, -1, unsigned, charset=charset)
