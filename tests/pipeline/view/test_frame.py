"""The frame: what a change looks like as a row."""

from __future__ import annotations

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tailrace.change.batch import ChangeBatch
from tailrace.pipeline.view.frame import Frame
from tailrace.pipeline.view.mapping import view_type
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import Traits
from tailrace.pipeline.view.shape import image_of
from tests.pipeline.view.folders import ID, NAME, TOTAL, Change, changes, orders

ROWS: list[Change] = [
    ("I", 5, (1, "a")),
    ("U", 6, (1, "b"), (1, "a")),
    ("U", 7, (1, "c")),
    ("D", 8, (1, "c")),
]


def schema(*names: str) -> StructType:
    whole = view_type(image_of(orders(), ViewOptions("", "shop", "orders")))
    return StructType([field for field in whole if not names or field.name in names])


def framed(wanted: StructType, batch: ChangeBatch, traits: Traits | None = None) -> list[dict[str, object]]:
    frame = Frame(to_arrow_schema(wanted, timezone="UTC"), traits or Traits(), "UTC")
    found = frame.of(batch, snapshot=False)
    found.validate(full=True)
    return list(found.to_pylist())


def test_a_deleted_row_shows_its_old_values_and_all_others_their_new_ones() -> None:
    rows = framed(schema(), changes(orders(), ROWS))
    assert [(row["_op"], row["id"], row["name"]) for row in rows] == [
        ("I", 1, "a"),
        ("U", 1, "b"),
        ("U", 1, "c"),
        ("D", 1, "c"),
    ]
    assert [row["_before"] for row in rows] == [None, {"id": 1, "name": "a"}, None, {"id": 1, "name": "c"}]
    assert [row["_commit_ts"] for row in rows] == [5, 6, 7, 8]
    assert [row["_snapshot"] for row in rows] == [False] * 4


def test_what_an_origin_does_not_know_is_null() -> None:
    rows = framed(schema(), changes(orders(), ROWS), Traits(commit_ts=False, start_ts=False, snapshot=False))
    assert {(row["_commit_ts"], row["_start_ts"], row["_snapshot"]) for row in rows} == {(None, None, None)}


def test_only_wanted_columns_are_made() -> None:
    frame = Frame(to_arrow_schema(schema("name", "_op"), timezone="UTC"), Traits(), "UTC")
    assert frame.wanted == {"name"}
    assert frame.of(changes(orders(), ROWS), False).schema.names == ["name", "_op"]
    assert Frame(to_arrow_schema(schema("_before"), timezone="UTC"), Traits(), "UTC").wanted == {"id", "name"}


def test_a_column_that_a_version_lacks_is_null_also_in_the_row_before() -> None:
    late = orders(columns=(ID, NAME, TOTAL))
    whole = view_type(image_of(late, ViewOptions("", "shop", "orders")))
    rows = framed(whole, changes(orders(), ROWS))
    assert {row["total"] for row in rows} == {None}
    assert rows[3]["_before"] == {"id": 1, "name": "c", "total": None}


def test_a_slice_of_a_batch_is_framed_as_its_rows() -> None:
    whole = framed(schema(), changes(orders(), ROWS))
    assert framed(schema(), changes(orders(), ROWS).slice(1, 3)) == whole[1:]
    assert framed(schema(), changes(orders(), ROWS).slice(0, 0)) == []
