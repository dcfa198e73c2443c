"""The shuffle on a real Spark, one machine and a cluster: the same rows in the same order as without one, whatever is
late, whatever dies, and whatever is attempted twice at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.pipeline.carry import Order
from tailrace.pipeline.job import LocalRunner, Runner, SparkRunner, Terms
from tailrace.pipeline.pieces import with_routes
from tailrace.pipeline.session import SessionOptions
from tailrace.pipeline.spread import by_size, spread_of
from tailrace.progress.cut import Cut, Piece, Span
from tailrace.sink.base import SinkSpec
from tailrace.testing.cluster import Store, start_store
from tailrace.testing.journal_sink import attempts, known_in, told
from tailrace.testing.services import connection
from tailrace.upstream.base import Mark, UpstreamSpec

pytestmark = pytest.mark.spark

TERMS = Terms(slots=4, patience=60.0)
ROWS, ROUTES, LATE_SECONDS = 3_000, 3, 10.0
CLUSTER = pytest.param("cluster", marks=pytest.mark.service("spark"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with start_store(tmp_path_factory.mktemp("store"), servers=2, options=("--no-fsync",)) as store:
        yield store


def columns(*keys: np.ndarray[tuple[int], np.dtype[np.int64]], of: TableSchema) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array(key) for key in keys], fields=list(of.arrow_struct))


@pytest.fixture(scope="module")
def orders(source: Store) -> list[Order]:
    """The pieces of one cut: inserts, updates and deletes of two tables in three ranges each."""
    client = source.client()
    client.create_schema("s")
    number = ColumnType("bigint")
    fields = (Column(1, "id", number, False, True), Column(2, "v", number))
    kinds = [TableSchema("s", name, 0, 0, fields, pk_is_handle=True) for name in ("a", "b")]
    tables = [client.create_table(kind, ranges=3, handles=(0, ROWS)) for kind in kinds]
    start = client.now()
    for turn in range(1, 5):
        with client.transaction() as transaction:
            for table in tables:
                ids = np.arange(0, ROWS, turn)
                write = transaction.insert if turn == 1 else transaction.update
                write(table, columns(ids, ids * turn, of=table))
    with client.transaction() as transaction:
        transaction.delete(tables[0], columns(np.arange(0, ROWS, 7), np.arange(0, ROWS, 7) * 1, of=tables[0]))
    end, upstream = client.now(), client.upstream
    routes = [route for table in tables for route in upstream.routes(table)]
    spans = [Span(route, from_index=upstream.register(route, "test", start).log_index) for route in routes]
    marks = [Mark(span.range, span.from_index, start) for span in spans]
    while min(frontier.resolved_ts for frontier in upstream.frontier(marks, 1.0)) < end:
        pass
    feeds = [
        Piece("s", 1, 1, at, "log", span.range.table_id, 0, (span,), start, end, bytes=9 << 20)
        for at, span in enumerate(spans)
    ]
    pieces = with_routes(Cut("s", 1, 1, "log", start, end), feeds, ROUTES)
    return [Order(piece, UpstreamSpec(source.uri), SinkSpec("s", "journal://")) for piece in pieces]


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Makes the journal's scheme known to this process, and to those that have the folder on their path."""
    folder = known_in(tmp_path_factory.mktemp("journal"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture(scope="module", params=["local", CLUSTER])
def spark(
    request: pytest.FixtureRequest, journal: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkRunner]:
    """One of its workers is told to die in a piece, another to write all of a route and to be late in saying so: Spark
    then takes it for slow, and begins a second attempt where it has a second machine."""
    folder = tmp_path_factory.mktemp("spark")
    environment = {
        "PYTHONPATH": str(journal),
        "TAILRACE_FAILPOINT": f"piece-closed=sleep:{LATE_SECONDS},log-page=kill@2",
        "TAILRACE_FAILPOINT_DIR": str(folder),
    }
    conf = {f"spark.executorEnv.{name}": value for name, value in environment.items()}
    conf |= {"spark.speculation": "true", "spark.speculation.minTaskRuntime": "500ms"}
    conf |= {"spark.speculation.interval": "50ms", "spark.speculation.quantile": "0.3"}
    master = "local[4,4]" if request.param == "local" else connection("spark").master
    runner = SparkRunner(SessionOptions(master, conf=conf))
    runner.open()
    yield runner
    runner.close()
    assert {place.name for place in folder.iterdir()} == {"log-page", "piece-closed"}


def carried(runner: Runner, orders: list[Order], folder: Path) -> list[dict[str, pa.Table]]:
    """What each route was told, by the receipts that count."""
    sink = SinkSpec("s", f"journal://{folder}?routes={ROUTES}")
    receipts = runner.run([replace(order, sink=sink) for order in orders], TERMS)
    assert [(receipt.piece, receipt.error) for receipt in receipts] == [(order.piece.number, None) for order in orders]
    return [told(receipt.payload) for receipt in receipts if receipt.payload]


@pytest.fixture(scope="module")
def expected(orders: list[Order], journal: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, pa.Table]]:
    found = carried(LocalRunner(), orders, tmp_path_factory.mktemp("expected"))
    rows = sum(table.num_rows for route in found for table in route.values())
    assert rows == 2 * sum(len(range(0, ROWS, turn)) for turn in range(1, 5)) + len(range(0, ROWS, 7))
    return found


def test_of_two_attempts_of_one_piece_at_once_one_counts(
    spark: SparkRunner, orders: list[Order], expected: list[dict[str, pa.Table]], tmp_path: Path
) -> None:
    assert carried(spark, orders, tmp_path) == expected
    # Spark attempts nothing twice at once on one machine, so with a local master there is only one.
    machines = 1 if str(spark.session.spark.sparkContext.master).startswith("local") else 2
    assert (attempts(tmp_path) > ROUTES) == (machines > 1)


@pytest.mark.parametrize("seed", range(3))
def test_a_shuffle_gives_what_no_shuffle_gives(
    spark: SparkRunner, orders: list[Order], expected: list[dict[str, pa.Table]], tmp_path: Path, seed: int
) -> None:
    feeds, routes = ([order for order in orders if order.piece.feeds is which] for which in (True, False))
    random.Random(seed).shuffle(feeds)
    found = carried(spark, feeds + routes, tmp_path)
    assert found == expected
    assert all(route.keys() == {"s.a", "s.b"} for route in found)


def test_a_cut_that_fits_one_task_gives_the_same_without_a_shuffle(
    spark: SparkRunner, orders: list[Order], expected: list[dict[str, pa.Table]], tmp_path: Path
) -> None:
    small = [replace(order, piece=replace(order.piece, bytes=1 << 10)) for order in orders]
    assert by_size(spread_of(small, range(len(small))))[1].feeds == ()
    assert carried(spark, small, tmp_path) == expected
