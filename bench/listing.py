"""Many files: one round over 100,000 files in 10,000 tables of which 10 changed, on a folder and on S3.

A round is what the consumer does when it looks for something new: read `metadata`, list, read what the new files hold
of time, and say what lies above where each table stands. The requests of a round are counted and printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow.fs as pafs

from bench.report import Report, arguments
from bench.storage_folder import CONFIG, add_file, many_table, many_tables_folder, write_metadata
from bench.tables import VERSION
from tailrace.change.tso import Ts
from tailrace.route.filter import TableFilter
from tailrace.upstream.base import Mark, UpstreamSpec
from tailrace.upstream.storage.upstream import StorageUpstream

CHANGED = 10
SETTLE_SECONDS = 2.5


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("listing", argv, _extend)
    report = Report("listing")
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as folder:
        root = Path(folder)
        many_tables_folder(root, options.tables, options.files)
        if options.s3:
            _on_s3(report, root, options.tables, options.files)
        time.sleep(SETTLE_SECONDS)
        # Each of the two rounds on S3 has added a file to some tables of the folder too.
        files = options.files + (2 if options.s3 else 0)
        _rounds(report, "folder", root, f"file://{root}", options.tables, files, None)
    report.finish(options.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=10, help="files of each table")
    parser.add_argument("--s3", action="store_true", help="on the S3 server of scripts/services too")


def _on_s3(report: Report, root: Path, tables: int, files: int) -> None:
    from tailrace.testing.services import connection

    server = connection("s3")
    bucket = server.new_bucket()
    store = server.filesystem()
    paths = [path for path in root.rglob("*") if path.is_file()]

    def put(path: Path) -> None:
        with store.open_output_stream(f"{bucket}/{path.relative_to(root).as_posix()}") as out:
            out.write(path.read_bytes())

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, paths))
    _rounds(report, "s3", root, server.uri(bucket), tables, files, (store, bucket))


def _rounds(
    report: Report, where: str, root: Path, uri: str, tables: int, files: int, copy: tuple[pafs.FileSystem, str] | None
) -> None:
    upstream = StorageUpstream(UpstreamSpec(uri, "UTC", CONFIG))
    consumers = upstream.consumers
    begun = time.monotonic()
    checkpoint = upstream.now()
    report.add(f"listing.{where}.first_round_s", time.monotonic() - begun)
    found = upstream.tables(TableFilter(("*.*",)), checkpoint)
    if len(found) != tables:
        raise SystemExit(f"bench: {len(found)} tables were found, not {tables}")
    marks = [Mark(upstream.routes(table)[0], 0, checkpoint) for table in found]
    for name in ("one_round", "second_round"):
        files += 1
        _change(root, tables, files, copy)
        begun, before = time.monotonic(), consumers.requests
        consumers.refresh(at_once=True)
        answers = upstream.frontier(marks, 0.0)
        took = time.monotonic() - begun
        changed = sum(bool(each.buckets) for each in answers)
        if changed != CHANGED:
            raise SystemExit(f"bench: {changed} tables have something new, not {CHANGED}")
        marks = [replace(mark, from_ts=consumers.checkpoint) for mark in marks]
        report.add(f"listing.{where}.{name}_s", took)
        report.add(f"listing.{where}.{name}_requests", consumers.requests - before)


def _change(root: Path, tables: int, number: int, copy: tuple[pafs.FileSystem, str] | None) -> None:
    """One more file in some tables, and a checkpoint that covers it."""
    written = [add_file(root, many_table(at * (tables // CHANGED)), number) for at in range(CHANGED)]
    checkpoint: Ts = VERSION + (number << 18)
    write_metadata(root, checkpoint)
    if copy is not None:
        store, bucket = copy
        for path in [*written, root / "metadata"]:
            with store.open_output_stream(f"{bucket}/{path.relative_to(root).as_posix()}") as out:
                out.write(path.read_bytes())


if __name__ == "__main__":
    main()
