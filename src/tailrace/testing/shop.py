"""A small shop: four tables with all column types among them, and the rows that fill them.

Everything is made by columns, the same for the same seed. The demo, the tests of faults and the benches use it. It
never talks to a store: whoever has one takes the images from here.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.testing.images import random_image

SCHEMA = "shop"

_CUSTOMERS = {
    "id": "bigint not null",
    "name": "varchar(60)",
    "email": "varchar(80)",
    "country": "char(2)",
    "interests": "set('books','music','it''s','garden')",
    "born": "date",
    "active": "tinyint(1)",
    "score": "smallint",
    "visits": "mediumint unsigned",
    "joined": "timestamp(6)",
    "profile": "json",
    "picture": "varbinary(64)",
}
_PRODUCTS = {
    "id": "int unsigned not null",
    "title": "text",
    "price": "decimal(12,2) not null",
    "weight": "float",
    "volume": "double",
    "made": "year",
    "flags": "bit(17)",
    "taste": "vector(3)",
    "manual": "blob",
    "code": "binary(16)",
    "stock": "int",
    "exact": "decimal(40,20)",
}
_ORDERS = {
    "id": "bigint not null",
    "customer": "bigint not null",
    "state": "enum('new','paid','sent, whole','lost ''n'' found') not null",
    "placed": "datetime(3)",
    "took": "time(3)",
    "total": "decimal(14,4)",
    "note": "mediumtext",
    "number": "bigint unsigned",
}
_ITEMS = {
    "id": "bigint not null",
    "orders": "bigint not null",
    "product": "int unsigned not null",
    "amount": "tinyint unsigned",
    "remark": "tinytext",
}
_SHARES = {"customers": 0.1, "products": 0.05, "orders": 0.25, "items": 0.6}


def tables(schema: str = SCHEMA) -> dict[str, TableSchema]:
    """The definitions by name, without the ids that a store gives."""
    shapes = {"customers": _CUSTOMERS, "products": _PRODUCTS, "orders": _ORDERS, "items": _ITEMS}
    return {name: _table(schema, name, columns) for name, columns in shapes.items()}


def sizes(rows: int) -> dict[str, int]:
    """How many rows each table gets of so many in all."""
    found = {name: int(rows * share) for name, share in _SHARES.items()}
    found["items"] += rows - sum(found.values())
    return found


def image(table: TableSchema, rows: int, *, first: int = 1, seed: int = 1) -> pa.StructArray:
    """So many new rows whose keys count from `first` on."""
    return random_image(table, rows, np.random.default_rng((seed, first)), first=first)


def _table(schema: str, name: str, columns: dict[str, str]) -> TableSchema:
    made = []
    for at, (label, text) in enumerate(columns.items(), 1):
        kind = text.removesuffix(" not null")
        made.append(Column(at, label, parse_type(kind), nullable=kind == text, pk=label == "id"))
    primary = Index(1, "PRIMARY", ("id",), unique=True, primary=True)
    return TableSchema(schema, name, 0, 0, tuple(made), (primary,), pk_is_handle=True)
