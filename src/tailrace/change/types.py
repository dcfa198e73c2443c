"""Column types: what a MySQL or TiDB column can be, and the one Arrow type that carries it everywhere.

`ColumnType` guarantees that equal SQL types are equal values, and that `arrow` depends on nothing else. It never
looks at a value.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "bigint": 64}
TEXT_NAMES = frozenset({"char", "varchar", "var_string", "tinytext", "text", "mediumtext", "longtext"})
BLOB_NAMES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
TEMPORAL_NAMES = frozenset({"date", "datetime", "timestamp", "time"})
TYPE_NAMES = (
    frozenset(INTEGER_BITS)
    | TEXT_NAMES
    | BLOB_NAMES
    | TEMPORAL_NAMES
    | {"year", "bit", "float", "double", "decimal", "enum", "set", "json", "vector"}
)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A SQL type. `length` and `scale` are TiDB's flen and decimal, -1 where none was given.

    `name` is the name in SQL, so a binary string is `varbinary` and not a varchar of the binary character set.
    """

    name: str
    length: int = -1
    scale: int = -1
    unsigned: bool = False
    zerofill: bool = False
    charset: str = ""
    collation: str = ""
    elems: tuple[str, ...] = ()

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGER_BITS

    @property
    def is_binary(self) -> bool:
        """A string of bytes rather than of characters."""
        return self.name in BLOB_NAMES

    @property
    def is_text(self) -> bool:
        """A string in a character set."""
        return self.name in TEXT_NAMES

    @property
    def fraction(self) -> int:
        """Digits after the point of a decimal's or a time's text."""
        return max(self.scale, 0)

    @property
    def arrow(self) -> pa.DataType:
        """The canonical Arrow type (DESIGN section 2), the same for every upstream and every codec."""
        if self.is_integer:
            bits = INTEGER_BITS[self.name]
            return getattr(pa, f"uint{bits}" if self.unsigned else f"int{bits}")()
        return _OTHER_ARROW.get(self.name, pa.binary() if self.is_binary else pa.string())


_OTHER_ARROW: dict[str, pa.DataType] = {
    "year": pa.int16(),
    "bit": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "enum": pa.uint16(),
    "set": pa.uint64(),
}
