"""Bench of naming on S3: the files of 1,000 tables of one cut get their names and their indexes.

Seconds of a commit and requests of the client, for the first cut (folders are looked at, schema files are written) and
for the next one; on loopback, and with a store that is some milliseconds away. The limit is the least that the layout
asks for: one copy and one index for each table, by the same client, as many at once.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from bench.delay import delayed
from bench.report import Report, arguments
from bench.sink import Seat, staged
from bench.tables import VERSION, batch, narrow_table
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.progress.cut import Cut
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.sink import StorageSink
from tailrace.store import bucket as bucket_module
from tailrace.testing.services import S3Connection, connection

CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'
CALLS = ("copy_file", "open_output_stream", "open_input_file", "get_file_info", "delete_file", "delete_dir")


class Counting:
    """A client that counts what is asked of it; nothing else is changed."""

    def __init__(self, client: pafs.FileSystem) -> None:
        self._client = client
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found: Callable[..., Any] = getattr(self._client, name)
        if name in CALLS:
            self.calls[name] += 1
        return found


def measure(report: Report, name: str, store: S3Connection, tables: Sequence[TableSchema]) -> None:
    bucket = store.new_bucket("naming")
    rows = [ChangeBatch(table, batch(table, 10).data) for table in tables]
    sink = StorageSink(SinkSpec("bench", store.uri(bucket, "out"), CONFIG))
    sink.open(Seat(tables))
    client = Counting(sink._store._client)  # type: ignore[attr-defined]
    sink._store._client = client  # type: ignore[attr-defined]
    for number, kind in ((1, "first"), (2, "next"), (3, "again")):
        cut = Cut("bench", 1, number, "log", 0, VERSION)
        with ThreadPoolExecutor(8) as pool:
            receipts = list(pool.map(lambda at, cut=cut: staged(sink, cut, at, [rows[at]]), range(len(rows))))
        client.calls.clear()
        began = time.perf_counter()
        sink.commit(cut, receipts)
        spent = time.perf_counter() - began
        if kind == "again":
            report.add(f"{name}.seconds", spent)
            report.add(f"{name}.requests", client.calls.total())
            report.add(f"{name}.share_of_least", _least(sink, store, bucket, len(tables)) / spent)
        elif kind == "first":
            report.add(f"{name}.first_seconds", spent)
            report.add(f"{name}.first_requests", client.calls.total())
    sink.close()


def _least(sink: StorageSink, store: S3Connection, bucket: str, tables: int) -> float:
    """One copy and one small object for each table, with nothing around it."""
    client = sink._store._client  # type: ignore[attr-defined]
    with client.open_output_stream(f"{bucket}/least/source") as file:
        file.write(b"x" * 2000)

    def put(at: int) -> None:
        with client.open_output_stream(f"{bucket}/least/t{at}/meta/CDC.index") as index:
            index.write(b"CDC00000000000000000001.csv\n")

    began = time.perf_counter()
    with ThreadPoolExecutor(bucket_module.THREADS) as pool:
        list(
            pool.map(
                lambda at: client.copy_file(f"{bucket}/least/source", f"{bucket}/least/t{at}/1.csv"), range(tables)
            )
        )
        list(pool.map(put, range(tables)))
    return time.perf_counter() - began


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument(
        "--away", type=float, default=30.0, metavar="MILLISECONDS", help="of the store that is not near"
    )


def main(argv: Sequence[str] | None = None) -> None:
    asked = arguments("naming", argv, _options)
    report = Report("naming")
    near = connection("s3")
    shape = narrow_table()
    tables = [
        TableSchema("bench", f"t{at}", at + 1, VERSION, shape.columns, pk_is_handle=True) for at in range(asked.tables)
    ]
    measure(report, "naming.s3", near, tables)
    with delayed(urlsplit(near.endpoint).netloc, asked.away) as address:
        away = S3Connection(f"http://{address}", near.access_key, near.secret_key, near.region)
        measure(report, "naming.s3.away", away, tables)
    report.finish(asked.json)


if __name__ == "__main__":
    main()
