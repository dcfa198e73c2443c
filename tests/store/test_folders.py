"""Listing a folder round after round: everything is found, each file once, and little is looked at again."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.errors import SinkAway, TailraceError
from tailrace.store.folders import FolderListing

LONG_AGO = 1_600_000_000


def listing(root: Path) -> FolderListing:
    def typed(error: OSError) -> TailraceError:
        return SinkAway(str(error))

    return FolderListing(str(root), typed)


def settle(root: Path) -> None:
    """Let all folders look as if nothing had changed for long."""
    for folder in [root, *(each for each in root.rglob("*") if each.is_dir())]:
        os.utime(folder, (LONG_AGO, LONG_AGO))


def put(path: Path, text: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_each_file_is_found_once_and_a_new_one_in_the_next_round(tmp_path: Path) -> None:
    put(tmp_path / "a" / "one")
    put(tmp_path / "b" / "c" / "two")
    found = listing(tmp_path)
    assert sorted(found.round()) == [("a/one", 1), ("b/c/two", 1)]
    assert found.round() == []
    settle(tmp_path)
    found.round()
    put(tmp_path / "b" / "c" / "three", "longer")
    assert found.round() == [("b/c/three", 6)]


def test_a_folder_that_changed_a_moment_ago_is_looked_at_again(tmp_path: Path) -> None:
    put(tmp_path / "a" / "one")
    found = listing(tmp_path)
    found.round()
    before = os.stat(tmp_path / "a").st_mtime_ns
    put(tmp_path / "a" / "two")
    os.utime(tmp_path / "a", ns=(before, before))
    assert found.round() == [("a/two", 1)]


def test_a_folder_that_changed_long_ago_costs_one_look(tmp_path: Path) -> None:
    for number in range(20):
        put(tmp_path / "a" / str(number))
    settle(tmp_path)
    found = listing(tmp_path)
    found.round()
    found.round()
    assert found.requests == 2


def test_what_is_tailraces_own_is_left_out_and_a_missing_folder_is_empty(tmp_path: Path) -> None:
    put(tmp_path / ".tailrace" / "stage" / "x")
    assert listing(tmp_path).round() == []
    assert listing(tmp_path / "nowhere").round() == []
