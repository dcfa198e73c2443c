"""A folder as a store: all or nothing, never over a file of others, and typed errors."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.errors import SinkAway, SinkRefused
from tailrace.store.local import LocalStore


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(str(tmp_path / "prefix"))


def put(store: LocalStore, path: str, data: bytes) -> None:
    output = store.create(path)
    output.write(memoryview(data))
    output.close()


def test_what_is_not_there_is_no_error(store: LocalStore) -> None:
    assert (store.read("a/x"), store.entry("a/x"), store.names("a")) == (None, None, [])
    assert (store.sizes("a"), store.folders("a")) == ({}, [])
    store.remove("a/x")
    store.remove_folder("a")
    store.remove_empty("a")
    store.settle()


@pytest.mark.parametrize("files", [1, 3, 100])
def test_replaced_files_are_there_whole_and_nothing_else_is(store: LocalStore, tmp_path: Path, files: int) -> None:
    for content in (b"old", b"newer"):
        store.replace((f"d{n}/x", content + str(n).encode()) for n in range(files))
    store.settle()
    assert [store.read(f"d{n}/x") for n in range(files)] == [b"newer" + str(n).encode() for n in range(files)]
    assert store.names(".tailrace/tmp") == []
    assert sorted(store.folders("")) == sorted([".tailrace", *(f"d{n}" for n in range(files))])


def test_publishing_gives_a_name_once_and_again_without_harm(store: LocalStore) -> None:
    put(store, "stage/p", b"data")
    assert store.publish("stage/p", "t/CDC1")
    assert store.publish("stage/p", "t/CDC1")
    assert (store.read("t/CDC1"), store.sizes("t")) == (b"data", {"CDC1": 4})
    store.remove_folder("stage")
    assert not store.publish("stage/p", "t/CDC1")
    assert not store.publish("stage/p", "new/CDC1")
    assert store.read("t/CDC1") == b"data"


def test_publishing_takes_the_place_of_an_empty_file_only(store: LocalStore) -> None:
    put(store, "stage/p", b"data")
    put(store, "t/empty", b"")
    put(store, "t/other", b"others")
    assert store.publish("stage/p", "t/empty")
    assert store.read("t/empty") == b"data"
    put(store, "stage/q", b"data")
    with pytest.raises(SinkRefused, match="t/other"):
        store.publish("stage/q", "t/other")
    assert store.read("t/other") == b"others"


def test_publishing_works_where_there_are_no_hard_links(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    put(store, "stage/p", b"data")
    assert store.publish("stage/p", "t/CDC1")
    assert not store.publish("stage/p", "t/CDC1")
    assert store.read("t/CDC1") == b"data"
    put(store, "stage/q", b"more")
    with pytest.raises(SinkRefused, match="CDC1"):
        store.publish("stage/q", "t/CDC1")


def test_folders_that_others_removed_are_made_again(store: LocalStore, tmp_path: Path) -> None:
    put(store, "stage/p", b"data")
    put(store, "t/v/CDC1", b"1")
    store.replace([("m/x", b"1")])
    for folder in ("t", "m", ".tailrace/tmp"):
        for path in sorted((tmp_path / "prefix" / folder).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (tmp_path / "prefix" / folder).rmdir()
    put(store, "t/v/CDC1", b"2")
    store.replace([("m/x", b"2")])
    assert store.publish("stage/p", "t/v/CDC2")
    assert (store.read("t/v/CDC1"), store.read("m/x"), store.read("t/v/CDC2")) == (b"2", b"2", b"data")


def test_only_an_empty_folder_is_removed_as_empty(store: LocalStore) -> None:
    put(store, "a/b/x", b"1")
    store.remove_empty("a/b")
    assert store.names("a/b") == ["x"]
    store.remove("a/b/x")
    store.remove_empty("a/b")
    assert store.folders("a") == []


def test_an_attempt_never_writes_over_a_file(store: LocalStore) -> None:
    put(store, "stage/p", b"1")
    with pytest.raises(SinkAway):
        store.create("stage/p")


@pytest.mark.parametrize("threads", [1, 8])
def test_each_gives_the_results_in_order(tmp_path: Path, threads: int) -> None:
    assert LocalStore(str(tmp_path), threads).each(lambda n: n * n, range(50)) == [n * n for n in range(50)]


def test_a_file_in_the_place_of_the_prefix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SinkRefused, match="check rights, mount and name"):
        put(LocalStore(str(tmp_path / "file")), "t/x", b"1")
    with pytest.raises(SinkRefused, match="too long"):
        put(LocalStore(str(tmp_path)), f"{'n' * 300}/x", b"1")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting needs more rights than this user has")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.faults
def test_a_full_disk_is_worth_another_try(small_disk: Path) -> None:
    store = LocalStore(str(small_disk))
    output = store.create("stage/p")
    with pytest.raises(SinkAway, match="is full"):
        output.write(memoryview(b"x" * (1 << 20)))
    output.close()
    with pytest.raises(SinkAway, match="is full"):
        store.replace([("m/x", b"x" * (1 << 20))])
    store.remove_folder("stage")
    store.remove_folder(".tailrace")
    put(store, "stage/p", b"x" * 1000)
    assert store.sizes("stage") == {"p": 1000}
