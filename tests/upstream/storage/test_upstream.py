"""A folder as an upstream: complete, ordered, repeatable; into another folder and the blackhole like any other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tailrace.codec.csv import CsvOptions
from tailrace.errors import ConfigError, DecodeError, TailraceError
from tailrace.pipeline import worker
from tailrace.pipeline.assignment import Assignment, Report
from tailrace.pipeline.runner import InProcessRunner
from tailrace.route.filter import TableFilter
from tailrace.server.solo import Outcome, Solo
from tailrace.sink.base import SinkSpec
from tailrace.testing.reader import FolderForm, TableHint, read_local
from tailrace.upstream.base import Mark, UpstreamSpec, log_batches
from tailrace.upstream.storage.upstream import StorageUpstream

TREES = Path(__file__).parents[2] / "trees"
CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'
EVERYTHING = TableFilter(("*.*",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TREES / "csv-basic" / "storage", tmp_path / "storage"))


def upstream_of(folder: Path) -> StorageUpstream:
    return StorageUpstream(UpstreamSpec(f"file://{folder}", "UTC", CONFIG))


def fail(error: TailraceError) -> None:
    raise error


def ignore(report: Report) -> None:
    pass


def carried(folder: Path, sink: str, work: Path, config: str = CONFIG) -> Outcome:
    upstream = UpstreamSpec(f"file://{folder}", "UTC", CONFIG)
    end = worker.upstreams.get(upstream).now()
    order = Assignment("copy", 0, upstream, SinkSpec("copy", sink, config), ("*.*",), start="1", end_ts=end)
    return Solo(work / "progress.db", ignore, fail).carry(order, InProcessRunner())


def test_the_log_of_all_ranges_is_complete_and_in_order(folder: Path) -> None:
    upstream = upstream_of(folder)
    checkpoint = upstream.now()
    rows = 0
    for table in upstream.tables(EVERYTHING, checkpoint):
        [route] = upstream.routes(table)
        [frontier] = upstream.frontier([Mark(route, 0, 1)], 0.0)
        assert frontier.resolved_ts == checkpoint
        stamps = [
            ts for batch in log_batches(upstream, route, 0, 1, checkpoint, 1) for ts in batch.commit_ts.to_pylist()
        ]
        assert stamps == sorted(stamps)
        assert not frontier.buckets or frontier.buckets[-1].ts >= stamps[-1]
        half = stamps[len(stamps) // 2]
        below = [
            ts for batch in log_batches(upstream, route, 0, 1, half, 1 << 20) for ts in batch.commit_ts.to_pylist()
        ]
        above = [
            ts
            for batch in log_batches(upstream, route, 0, half, checkpoint, 1 << 20)
            for ts in batch.commit_ts.to_pylist()
        ]
        assert below + above == stamps
        rows += len(stamps)
    assert rows == 37


def test_a_page_can_be_asked_for_again_by_anybody(folder: Path) -> None:
    upstream = upstream_of(folder)
    checkpoint = upstream.now()
    table = next(each for each in upstream.tables(EVERYTHING, checkpoint) if each.name == "customer")
    [route] = upstream.routes(table)
    first = upstream.pull_log(route, 0, 1, checkpoint, 1, b"")
    assert first.next
    again = upstream_of(folder)
    for known in (upstream, again, upstream):
        second = known.pull_log(route, 0, 1, checkpoint, 1, first.next)
        assert [batch.data.to_pylist() for batch in second.batches] == [
            batch.data.to_pylist()
            for batch in upstream_of(folder).pull_log(route, 0, 1, checkpoint, 1, first.next).batches
        ]


def test_a_folder_is_copied_into_another_one(folder: Path, tmp_path: Path) -> None:
    done = carried(folder, f"file://{tmp_path}/copy", tmp_path)
    hints = {"shop.tag": TableHint(("name",))}
    form = FolderForm(csv=CsvOptions(include_commit_ts=True), ddl_at_checkpoint=False, hints=hints)
    want, got = read_local(folder, form), read_local(tmp_path / "copy", replace(form, ddl_at_checkpoint=True))
    assert done.report.rows == want.changes == got.changes
    assert (got.fallbacks, got.gaps) == ((), ())
    assert {name: rows.to_pylist() for name, rows in got.tables.items()} == {
        name: rows.to_pylist() for name, rows in want.tables.items()
    }


def test_the_blackhole_takes_every_row(folder: Path, tmp_path: Path) -> None:
    assert carried(folder, "blackhole://", tmp_path).report.rows == 37


def test_a_table_that_appears_without_a_ddl_is_not_missed(folder: Path, tmp_path: Path) -> None:
    """A table that was there before the changefeed has its first schema file with its first row, at an old version."""
    later = tmp_path / "later"
    stamps = [
        int(line.split(",")[3])
        for file in (folder / "shop" / "stock").rglob("*.csv")
        for line in file.read_text().splitlines()
    ]
    shutil.move(folder / "shop" / "stock", later)
    metadata = (folder / "metadata").read_text()
    half = min(stamps) - 1
    (folder / "metadata").write_text(f'{{"checkpoint-ts":{half}}}')
    first = carried(folder, f"sqlite:///{tmp_path}/x.db", tmp_path, "")
    shutil.move(later, folder / "shop" / "stock")
    (folder / "metadata").write_text(metadata)
    worker.upstreams._opened.clear()
    second = carried(folder, f"sqlite:///{tmp_path}/x.db", tmp_path, "")
    assert 0 < second.report.rows < 37
    assert first.report.rows + second.report.rows == 37


def test_where_a_uri_is_all_there_is_it_says_how_files_are_written(folder: Path) -> None:
    plain = f"file://{folder}?protocol=csv&date-separator=day"
    assert len(StorageUpstream(UpstreamSpec(f"{plain}&include-commit-ts=true")).tables(EVERYTHING, 1)) == 2
    with pytest.raises(ConfigError, match="include-commit-ts"):
        StorageUpstream(UpstreamSpec(plain))
    with pytest.raises(ConfigError, match="not in both"):
        StorageUpstream(UpstreamSpec(f"{plain}&include-commit-ts=true", "UTC", CONFIG))
    with pytest.raises(ConfigError, match="date-separator"):
        StorageUpstream(UpstreamSpec(f"file://{folder}?protocol=csv&date-separator=week&include-commit-ts=true"))


def test_a_prefix_that_is_not_the_changefeeds_own_is_an_error(folder: Path) -> None:
    with pytest.raises(DecodeError, match="changefeed's own prefix"):
        upstream_of(folder.parent).now()
