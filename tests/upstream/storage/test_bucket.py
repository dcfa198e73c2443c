"""The same tree in a bucket: what is found, in how many requests, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from tailrace.route.filter import TableFilter
from tailrace.testing.services import Cloud, connection
from tailrace.upstream.base import Mark, UpstreamSpec, log_batches
from tailrace.upstream.storage.upstream import StorageUpstream

TREE = Path(__file__).parents[2] / "trees" / "csv-types-names"
CONFIG = (TREE / "changefeed.toml").read_text(encoding="utf-8")


def rows_of(upstream: StorageUpstream) -> dict[str, list[object]]:
    checkpoint = upstream.now()
    found: dict[str, list[object]] = {}
    for table in upstream.tables(TableFilter(("*.*",)), checkpoint):
        [route] = upstream.routes(table)
        batches = log_batches(upstream, route, 0, 1, checkpoint, 1 << 20)
        found[table.full_name] = [row for batch in batches for row in batch.data.to_pylist()]
    return found


@pytest.mark.parametrize("cloud", [pytest.param(name, marks=pytest.mark.service(name)) for name in get_args(Cloud)])
def test_a_bucket_holds_what_a_folder_holds(cloud: Cloud) -> None:
    server = connection(cloud)
    bucket, store = server.new_bucket(), server.filesystem()
    files = [path for path in (TREE / "storage").rglob("*") if path.is_file()]
    for path in files:
        with store.open_output_stream(f"{bucket}/feed/{path.relative_to(TREE / 'storage').as_posix()}") as out:
            out.write(path.read_bytes())
    upstream = StorageUpstream(UpstreamSpec(server.uri(bucket, "feed"), "Europe/Berlin", CONFIG))
    folder = StorageUpstream(UpstreamSpec(f"file://{TREE / 'storage'}", "Europe/Berlin", CONFIG))
    assert rows_of(upstream) == rows_of(folder)
    before = upstream.consumers.requests
    upstream.consumers.refresh(at_once=True)
    tables = upstream.tables(TableFilter(("*.*",)), upstream.now())
    marks = [Mark(upstream.routes(table)[0], 0, upstream.now()) for table in tables]
    assert all(not each.buckets for each in upstream.frontier(marks, 0.0))
    # metadata, the top twice (its folders, its files), and each of the folders below it
    assert upstream.consumers.requests - before <= 3 + 3
