"""`tailrace demo`: a database, a subscription and its files, on this machine alone.

Starts two data servers and a server as processes, fills a small shop, captures it into a folder while it goes on being
written and altered, reads the folder back with an independent reader and compares every row. It ends with one line,
`demo: N tables, N rows, 0 differences`, and with exit code 1 where there is a difference.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.errors import TailraceError
from tailrace.server.requests import SubscribeRequest
from tailrace.testing import shop
from tailrace.testing.cluster import start_store
from tailrace.testing.compare import compare
from tailrace.testing.reader import read_local
from tailrace.testing.server_process import ServerProcess
from tailrace.testing.shop_traffic import ShopTraffic

NAME = "demo"
CHUNK_ROWS = 100_000
WAIT_SECONDS = 120.0
LOG_SECONDS = 5.0


@click.command()
@click.option("--rows", default=300_000, show_default=True, help="How many rows the shop begins with.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where everything goes; a new folder below the system's temporary one when left out.",
)
@click.option("--keep/--clean", default=True, show_default=True, help="Keep the folder afterwards.")
def demo(rows: int, folder: Path | None, keep: bool) -> None:
    """See everything work in one go: capture a shop into files while it is written, and compare."""
    place = folder or Path(tempfile.mkdtemp(prefix="tailrace-demo-"))
    if place.exists() and any(place.iterdir()):
        raise click.BadParameter(f"{place} is not empty", param_hint="--folder")
    different = _Demo(place.resolve(), rows).run()
    if not keep:
        shutil.rmtree(place)
    sys.exit(1 if different else 0)


class _Demo:
    def __init__(self, folder: Path, rows: int) -> None:
        self._folder = folder
        self._rows = rows
        self._begun = time.monotonic()
        self._copy = folder / "copy"

    def run(self) -> int:
        """The number of differences."""
        with ExitStack() as running:
            with self._step("two data servers and a server"):
                store = running.enter_context(start_store(self._folder / "store", servers=2))
                server = running.enter_context(ServerProcess(self._folder / "server"))
            client = store.client()
            with self._step(f"a shop of {self._rows:,} rows in 4 tables, every column type among them"):
                tables = self._fill(client)
            with self._step("a subscription: snapshot and log, as CSV files; the shop goes on being written"):
                self._subscribe(server, store.uri)
                with ShopTraffic(client, shop.sizes(self._rows)) as traffic:
                    self._wait_for_snapshot(server)
                    traffic.add_column("customers", "nickname", "varchar(30)")
                    time.sleep(LOG_SECONDS)
            done = traffic.done
            self._say(f"written meanwhile: {done.transactions:,} transactions, {done.rows:,} rows, {done.ddl} DDL")
            end = client.now()
            with self._step("the folder catches up with the last transaction"):
                self._wait_for(server, end)
            return self._compare(client, tables, end)

    def _fill(self, client: StoreClient) -> list[str]:
        client.create_schema(shop.SCHEMA)
        sizes = shop.sizes(self._rows)
        for name, definition in shop.tables().items():
            table = client.create_table(definition, ranges=2, handles=(0, sizes[name]))
            for first in range(1, sizes[name] + 1, CHUNK_ROWS):
                count = min(CHUNK_ROWS, sizes[name] + 1 - first)
                client.bulk_insert(table, shop.image(table, count, first=first))
        return list(sizes)

    def _subscribe(self, server: ServerProcess, upstream: str) -> None:
        sink = f"file://{self._copy}?protocol=csv&flush-interval=2s"
        config = '[sink]\nschema-dialect = "new"\n[sink.csv]\ninclude-commit-ts = true\n'
        with server.client() as client:
            client.subscribe(SubscribeRequest(NAME, upstream, sink, config, (f"{shop.SCHEMA}.*",)))

    def _wait_for_snapshot(self, server: ServerProcess) -> None:
        self._poll(server, lambda checkpoint: checkpoint > 0)

    def _wait_for(self, server: ServerProcess, end: Ts) -> None:
        self._poll(server, lambda checkpoint: checkpoint >= end)

    def _poll(self, server: ServerProcess, done: Callable[[Ts], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        with server.client() as client:
            while True:
                [status] = client.status(NAME)
                if status.subscription.error is not None and status.subscription.state == "failed":
                    raise status.subscription.error
                if done(status.subscription.checkpoint_ts):
                    return
                if time.monotonic() > deadline:
                    raise TailraceError(f"the subscription did not come so far; see {server.log}", subscription=NAME)
                time.sleep(0.1)

    def _compare(self, client: StoreClient, names: list[str], end: Ts) -> int:
        with self._step("the folder is read back by an independent reader, and every row is compared"):
            copy = read_local(self._copy)
            rows, found = 0, len(copy.fallbacks) + len(copy.gaps)
            for name in names:
                source, full = client.read(client.table(shop.SCHEMA, name), end), f"{shop.SCHEMA}.{name}"
                result = compare(copy.tables[full], source, copy.keys[full])
                rows, found = rows + result.rows, found + result.total
                self._say(f"{full}: {result}")
        files = [path for path in self._copy.rglob("*.csv") if ".tailrace" not in path.parts]
        size = sum(path.stat().st_size for path in files)
        self._say(f"{len(files)} files of {size / 1e6:,.1f} MB in {self._copy}")
        click.echo(f"demo: {len(names)} tables, {rows} rows, {found} differences")
        return found

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        begun = time.monotonic()
        click.echo(f"{begun - self._begun:6.1f} s  {what} ...", err=True)
        yield
        click.echo(f"{time.monotonic() - self._begun:6.1f} s      done in {time.monotonic() - begun:.1f} s", err=True)

    def _say(self, what: str) -> None:
        click.echo(f"{time.monotonic() - self._begun:6.1f} s  {what}", err=True)
