"""The data source on a real Spark: `spark.read` and `spark.readStream.format("tailrace")`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tailrace.errors import NotFound, SchemaChanged
from tailrace.pipeline.session import SessionOptions, open_session
from tailrace.pipeline.view import failure_of, register
from tests.pipeline.view.folders import ID, NAME, TOTAL, Folder, orders

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session(SessionOptions("local[2,4]")).spark
    register(session)
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "cdc")
    table = made.version(orders())
    made.rows(table, 1, [("I", 101, (1, "a")), ("I", 102, (2, "b"))])
    made.rows(table, 2, [("U", 103, (1, "c")), ("D", 104, (2, "b"))])
    made.checkpoint(200)
    return made


def test_a_table_is_a_typed_frame_with_filters_and_columns(spark: SparkSession, folder: Folder) -> None:
    frame = spark.read.format("tailrace").option("table", "shop.orders").load(str(folder.path))
    assert frame.columns == ["id", "name", "_op", "_commit_ts", "_start_ts", "_before", "_snapshot"]
    rows = frame.orderBy("_commit_ts").collect()
    assert [(row._op, row.id, row.name) for row in rows] == [("I", 1, "a"), ("I", 2, "b"), ("U", 1, "c"), ("D", 2, "b")]
    assert rows[3]._before.name == "b"
    late = frame.where("_commit_ts > 102 and _op <> 'D'").select("id", "_commit_ts")
    assert [tuple(row) for row in late.collect()] == [(1, 103)]
    few = spark.read.format("tailrace").option("table", "shop.orders").schema("_op string, id long")
    assert sorted(tuple(row) for row in few.load(f"file://{folder.path}").collect()) == [
        ("D", 2),
        ("I", 1),
        ("I", 2),
        ("U", 1),
    ]
    assert frame.where("_commit_ts > 104").count() == 0


def test_an_error_of_a_read_is_found_in_sparks(spark: SparkSession, folder: Folder) -> None:
    with pytest.raises(PySparkException) as raised:
        spark.read.format("tailrace").option("table", "shop.nothing").load(str(folder.path))
    found = failure_of(raised.value)
    assert isinstance(found, NotFound)
    assert "there is no table shop.nothing; shop has orders" in found.message


def started(spark: SparkSession, folder: Folder, place: Path, **options: str) -> StreamingQuery:
    frame = spark.readStream.format("tailrace").options(table="shop.orders", **options).load(str(folder.path))
    plain = frame.selectExpr("id", "_op", "_commit_ts")
    return (
        plain.writeStream.format("parquet")
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(place / "out"))
    )


def written(spark: SparkSession, place: Path) -> list[tuple[int, str]]:
    rows = spark.read.parquet(str(place / "out")).orderBy("_commit_ts").collect()
    return [(row.id, row._op) for row in rows]


def test_a_stream_goes_on_where_it_ended_and_ends_at_a_ddl(spark: SparkSession, folder: Folder, tmp_path: Path) -> None:
    started(spark, folder, tmp_path, maxFilesPerTrigger="1").awaitTermination()
    first = [(1, "I"), (2, "I"), (1, "U"), (2, "D")]
    assert written(spark, tmp_path) == first
    folder.rows(orders(), 3, [("I", 250, (3, "d"))])
    new = folder.version(orders(300, (ID, NAME, TOTAL)), 5, "ALTER TABLE orders ADD total DECIMAL(12,2)")
    folder.rows(new, 1, [("I", 301, (4, "e", "9.99"))])
    folder.checkpoint(400)
    with pytest.raises(PySparkException) as raised:
        query = started(spark, folder, tmp_path, schemaAt="100")
        query.awaitTermination()
    found = failure_of(raised.value)
    assert isinstance(found, SchemaChanged)
    assert "version 300 has the column total" in found.message
    assert written(spark, tmp_path) == [*first, (3, "I")]
    started(spark, folder, tmp_path).awaitTermination()
    assert written(spark, tmp_path) == [*first, (3, "I"), (4, "I")]
