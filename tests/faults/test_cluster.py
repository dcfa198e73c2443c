"""A cluster that loses workers and executors, or attempts pieces twice: everything is there, once, in order.

One server on the standalone cluster carries one schema twice: into files, and over routes into a journal, with a
transaction in between that is large enough to be shuffled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest

from tailrace.change.batch import DELETE
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType
from tailrace.dataserver.client import StoreClient
from tailrace.server.requests import SubscribeRequest
from tailrace.testing import shop
from tailrace.testing.cluster import Store, start_store
from tailrace.testing.compare import compare
from tailrace.testing.journal_sink import attempts, committed, known_in
from tailrace.testing.reader import read_local
from tailrace.testing.server_process import ServerProcess
from tailrace.testing.services import connection
from tailrace.testing.shop_traffic import ShopTraffic

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.service("spark")]

ROWS, BULK_ROWS, TEXT = 1_000, 60_000, "x" * 400
WAIT_SECONDS = 90.0
CONFIG = '[sink]\nschema-dialect = "new"\n[sink.csv]\ninclude-commit-ts = true\n'
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
}
CASES = {
    "worker-killed-with-its-files-staged": ("piece-closed=kill@2", {}),
    "worker-killed-in-a-feed": ("log-page=kill@3", {}),
    "piece-attempted-twice": ("piece-closed=sleep:20@2", SPECULATION),
    "executor-killed": ("", {}),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with start_store(tmp_path_factory.mktemp("store"), servers=2, options=("--no-fsync",)) as store:
        yield store


@pytest.mark.parametrize("case", CASES)
def test_a_cluster_that_fails_loses_nothing_and_doubles_nothing(source: Store, tmp_path: Path, case: str) -> None:
    point, conf = CASES[case]
    client, schema = source.client(), f"shop_{case}".replace("-", "_")
    sizes = fill(client, schema)
    acted = tmp_path / "acted"
    acted.mkdir()
    journal = known_in(tmp_path / "journal-scheme")
    told = {"TAILRACE_FAILPOINT": point, "TAILRACE_FAILPOINT_DIR": str(acted), "PYTHONPATH": str(journal)}
    conf = {f"spark.executorEnv.{name}": value for name, value in told.items() if value} | conf
    options = [word for name, value in conf.items() for word in ("--spark-conf", f"{name}={value}")]
    master = ("--master", connection("spark").master, "--lease", "2")
    with ServerProcess(tmp_path / "server", *master, *options, env={"PYTHONPATH": str(journal)}) as server:
        subscribe(server, source.uri, schema, "files", f"file://{tmp_path}/copy?protocol=csv&flush-interval=2s")
        subscribe(server, source.uri, schema, "routes", f"journal://{tmp_path}/journal?routes=4")
        with ShopTraffic(client, sizes, schema=schema):
            wait(server, lambda ts: ts > 0)
            client.bulk_insert(client.table(schema, "bulk"), bulk(client.table(schema, "bulk")))
            if case == "executor-killed":
                executors(server)[0].kill()
            else:
                wait(server, lambda ts: any(acted.iterdir()))
            wait(server, at_least(client.now()))
        end = client.now()
        wait(server, at_least(end))
    files = read_local(tmp_path / "copy")
    assert (files.fallbacks, files.gaps) == ((), ())
    routes = folded(tmp_path / "journal")
    for name in (*shop.sizes(ROWS), "bulk"):
        table, full = client.table(schema, name), f"{schema}.{name}"
        there = client.read(table, end)
        assert compare(files.tables[full], there, files.keys[full]).equal, full
        keys = table.handle_key
        assert routes.get(full, {}) == {tuple(row[key] for key in keys): row for row in there.to_pylist()}, full
    if conf.keys() & SPECULATION.keys():
        counted = sum(1 for _ in committed(tmp_path / "journal"))
        assert attempts(tmp_path / "journal") >= counted


def fill(client: StoreClient, schema: str) -> dict[str, int]:
    sizes = shop.sizes(ROWS)
    client.create_schema(schema)
    for name, definition in shop.tables(schema).items():
        table = client.create_table(definition, ranges=4, handles=(0, sizes[name]))
        client.bulk_insert(table, shop.image(table, sizes[name]))
    text = ColumnType("varchar", 500, charset="utf8mb4", collation="utf8mb4_bin")
    columns = (Column(1, "id", ColumnType("bigint"), False, True), Column(2, "v", text))
    definition = TableSchema(schema, "bulk", 0, 0, columns, pk_is_handle=True)
    client.create_table(definition, ranges=4, handles=(0, BULK_ROWS))
    return sizes


def bulk(table: TableSchema) -> pa.StructArray:
    values = [pa.array(np.arange(BULK_ROWS)), pa.array([TEXT] * BULK_ROWS)]
    return pa.StructArray.from_arrays(values, fields=list(table.arrow_struct))


def subscribe(server: ServerProcess, upstream: str, schema: str, name: str, sink: str) -> None:
    with server.client() as client:
        client.subscribe(SubscribeRequest(name, upstream, sink, CONFIG if name == "files" else "", (f"{schema}.*",)))


def wait(server: ServerProcess, done: Callable[[Ts], bool]) -> None:
    """Until what is asked for holds of both subscriptions."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        with server.client() as client:
            found = [client.status(name)[0].subscription for name in ("files", "routes")]
        for each in found:
            if each.state == "failed" and each.error is not None:
                raise each.error
        if all(done(each.checkpoint_ts) for each in found):
            return
        assert time.monotonic() < end, f"{found} did not come so far: {server.last_words()}"
        time.sleep(0.2)


def at_least(ts: Ts) -> Callable[[Ts], bool]:
    return lambda reached: reached >= ts


def executors(server: ServerProcess) -> list[psutil.Process]:
    """Executors of this server's application: the cluster may have some of others."""
    [java] = [each for each in psutil.Process(server.pid).children(recursive=True) if each.name() == "java"]
    ports = {str(each.laddr.port) for each in java.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
    found = psutil.process_iter(["cmdline"])
    lines = ((each, " ".join(each.info["cmdline"] or [])) for each in found)
    driver = [(each, line) for each, line in lines if "CoarseGrainedExecutorBackend" in line]
    return [each for each, line in driver if any(f"@127.0.0.1:{port}" in line for port in ports)]


def folded(folder: Path) -> dict[str, dict[tuple[Any, ...], dict[str, Any]]]:
    """The tables that come of what the journal's routes were told, each in its own order."""
    tables: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for attempt in committed(folder):
        for name, changes in attempt.items():
            rows = tables.setdefault(name, {})
            for change in changes.select(["op", "after", "before"]).to_pylist():
                image = change["before"] if change["op"] == DELETE else change["after"]
                key = tuple(image[each] for each in KEYS[name.partition(".")[2]])
                if change["op"] == DELETE:
                    del rows[key]
                else:
                    rows[key] = image
    return tables


KEYS = {name: table.handle_key for name, table in shop.tables("s").items()} | {"bulk": ("id",)}
