"""DDL events: a change of a table's or a database's shape, at one commit ts.

`type` is TiDB's action code, which TiCDC's schema files carry. A statement over several tables is several events of
one commit ts, in `seq` order. An event names every table it touches, by old and by new name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts


class DdlType(IntEnum):
    """TiDB's action codes of the statements that are forwarded (others keep their plain number)."""

    NONE = 0
    CREATE_SCHEMA = 1
    DROP_SCHEMA = 2
    CREATE_TABLE = 3
    DROP_TABLE = 4
    ADD_COLUMN = 5
    DROP_COLUMN = 6
    ADD_INDEX = 7
    DROP_INDEX = 8
    TRUNCATE_TABLE = 11
    MODIFY_COLUMN = 12
    RENAME_TABLE = 14
    SET_DEFAULT = 15
    ADD_PARTITION = 19
    DROP_PARTITION = 20
    CREATE_VIEW = 21
    TRUNCATE_PARTITION = 23
    DROP_VIEW = 24
    EXCHANGE_PARTITION = 42


@dataclass(frozen=True, slots=True)
class DdlEvent:
    """`table` is the table after the statement (before it, for a drop); None for a database's event."""

    commit_ts: Ts
    start_ts: Ts
    seq: int
    type: int
    query: str
    schema_name: str
    table_name: str = ""
    table: TableSchema | None = None
    before: TableSchema | None = None

    @property
    def order(self) -> tuple[Ts, int]:
        return (self.commit_ts, self.seq)

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """(schema, table) of everything that the statement touches; an empty table is the whole schema."""
        touched = {(self.schema_name, self.table_name)}
        touched |= {(known.schema, known.name) for known in (self.table, self.before) if known is not None}
        return frozenset(touched)
