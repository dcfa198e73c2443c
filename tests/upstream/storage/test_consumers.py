"""What is new is given to its table, once and whole; what is not whole yet is waited for; what is broken is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tailrace.errors import DecodeError
from tailrace.route.filter import TableFilter
from tailrace.upstream.base import UpstreamSpec, log_batches
from tailrace.upstream.storage.upstream import StorageUpstream

TREE = Path(__file__).parents[2] / "trees" / "csv-basic" / "storage"
CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'
CUSTOMER = "shop/customer"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TREE, tmp_path / "storage"))


def upstream_of(folder: Path) -> StorageUpstream:
    return StorageUpstream(UpstreamSpec(f"file://{folder}", "UTC", CONFIG))


def look(upstream: StorageUpstream) -> None:
    upstream.consumers.refresh(at_once=True)


def rows_of(upstream: StorageUpstream, name: str, upto: int | None = None) -> list[dict[str, object]]:
    checkpoint = upstream.consumers.checkpoint
    table = next(each for each in upstream.tables(TableFilter(("*.*",)), checkpoint) if each.name == name)
    [route] = upstream.routes(table)
    return [
        row
        for batch in log_batches(upstream, route, 0, 1, upto or checkpoint, 1 << 20)
        for row in batch.data.to_pylist()
    ]


def files_of(folder: Path, table: str) -> list[Path]:
    return sorted((folder / table).rglob("CDC*.csv"))


def write_checkpoint(folder: Path, ts: int) -> None:
    (folder / "metadata").write_text(f'{{"checkpoint-ts":{ts}}}')


def test_after_an_error_nothing_is_forgotten(folder: Path) -> None:
    want = rows_of_all(upstream_of(folder))
    broken = next((folder / CUSTOMER / "meta").glob("*.json"))
    text = broken.read_bytes()
    broken.write_bytes(text[:-10])
    upstream = upstream_of(folder)
    for _ in range(2):
        with pytest.raises(DecodeError, match="JSON"):
            look(upstream)
    broken.write_bytes(text)
    look(upstream)
    assert rows_of_all(upstream) == want


def rows_of_all(upstream: StorageUpstream) -> list[list[dict[str, object]]]:
    look(upstream)
    return [rows_of(upstream, name) for name in ("customer", "stock", "orders", "tag")]


def test_a_file_that_was_cut_and_is_mended_is_read_whole(folder: Path) -> None:
    last = files_of(folder, CUSTOMER)[0]
    whole, want = last.read_bytes(), rows_of_all(upstream_of(folder))
    last.write_bytes(whole[: whole.rindex(b'","') + 1])
    upstream = upstream_of(folder)
    look(upstream)
    with pytest.raises(DecodeError, match=last.name):
        rows_of(upstream, "customer")
    last.write_bytes(whole)
    assert rows_of_all(upstream) == want


def test_a_file_beyond_the_checkpoint_may_still_be_written(folder: Path) -> None:
    last = files_of(folder, CUSTOMER)[-1]
    whole = last.read_bytes()
    first = int(whole.split(b",")[3])
    write_checkpoint(folder, first - 1)
    for half in (b"", whole[:9], whole[: len(whole) // 2]):
        last.write_bytes(half)
        upstream = upstream_of(folder)
        look(upstream)
        before = len(rows_of(upstream, "customer"))
    last.write_bytes(whole)
    write_checkpoint(folder, first + (1 << 30))
    look(upstream)
    assert len(rows_of(upstream, "customer")) == before + whole.count(b"\r\n")


def test_a_file_in_which_no_row_can_be_read_is_an_error_once_later_ones_are_done(folder: Path) -> None:
    first = files_of(folder, CUSTOMER)[0]
    assert len(files_of(folder, CUSTOMER)) > 1
    first.write_bytes(b'"I","cust')
    with pytest.raises(DecodeError, match=first.name):
        look(upstream_of(folder))


def test_a_folder_says_when_it_has_something_new(folder: Path) -> None:
    late = files_of(folder, CUSTOMER)[-1]
    data = late.read_bytes()
    late.unlink()
    upstream = upstream_of(folder)
    look(upstream)
    before = len(rows_of(upstream, "customer"))
    late.write_bytes(data)
    look(upstream)
    assert len(rows_of(upstream, "customer")) == before + data.count(b"\r\n")


def test_the_checkpoint_never_falls(folder: Path) -> None:
    upstream = upstream_of(folder)
    checkpoint = upstream.now()
    write_checkpoint(folder, 5)
    look(upstream)
    assert upstream.consumers.checkpoint == checkpoint
