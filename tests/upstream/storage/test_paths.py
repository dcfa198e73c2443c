"""Paths are read by position: every form that was ever written, and nothing that only looks like one."""

from __future__ import annotations

import pytest

from tailrace.errors import DecodeError
from tailrace.upstream.storage.paths import DataFile, Folder, PathForm, Run, SchemaPath

V = 470558777546899460


@pytest.mark.parametrize(
    ("separator", "path", "folder", "run", "number"),
    [
        ("day", f"s/t/{V}/2026-11-18/CDC000001.csv", Folder("s", "t"), Run(0, "2026-11-18", ""), 1),
        ("month", f"s/t/{V}/77/2026-11/CDC{7:020d}.csv", Folder("s", "t"), Run(77, "2026-11", ""), 7),
        ("year", f"s/t/{V}/2026/2026/CDC000002.csv", Folder("s", "t"), Run(2026, "2026", ""), 2),
        ("none", f"s/t/{V}/CDC1000000.csv", Folder("s", "t"), Run(0, "", ""), 1000000),
        ("none", f"a b.c/名前$'/{V}/CDC000001.csv", Folder("a b.c", "名前$'"), Run(0, "", ""), 1),
        ("none", f"meta/meta/{V}/5/CDC_123456_000009.csv", Folder("meta", "meta"), Run(5, "", "123456"), 9),
        ("day", f"112/{V}/2026-11-18/CDC000003.csv", Folder("", "112"), Run(0, "2026-11-18", ""), 3),
        ("none", f"s/CDC000001.csv/{V}/CDC000001.csv", Folder("s", "CDC000001.csv"), Run(0, "", ""), 1),
    ],
)
def test_a_data_file_is_found_in_every_form(separator: str, path: str, folder: Folder, run: Run, number: int) -> None:
    found = PathForm(".csv", separator).read(path, 10)
    assert isinstance(found, DataFile)
    assert (found.folder, found.version, found.run, found.number) == (folder, V, run, number)


@pytest.mark.parametrize(
    ("path", "folder", "checksum"),
    [
        (f"s/t/meta/schema_{V}_0627071850.json", Folder("s", "t"), 627071850),
        (f"s/meta/schema_{V}_3233644819.json", Folder("s", ""), 3233644819),
        (f"meta/meta/schema_{V}_3233644819.json", Folder("meta", ""), 3233644819),
        (f"s/t/{V}/schema.json", Folder("s", "t"), None),
    ],
)
def test_a_schema_file_is_found_in_every_form(path: str, folder: Folder, checksum: int | None) -> None:
    assert PathForm(".csv").read(path, 10) == SchemaPath(folder, V, checksum, path)


@pytest.mark.parametrize(
    "path",
    [
        "metadata",
        f"s/t/{V}/2026-11-18/meta/CDC.index",
        f"s/t/{V}/2026-11-18/CDC000001.csv.tmp.6b1f",
        f"s/t/{V}/2026-11-18/CDC000001.json",
        f"s/t/meta/schema_{V}_123.json",
        f"s/t/meta/schema_{V}_0627071850.json.tmp.77",
        f".tailrace/stage/1/{V}/2026-11-18/CDC000001.csv",
    ],
)
def test_what_is_nobodys_is_left_alone(path: str) -> None:
    assert PathForm(".csv").read(path, 10) is None


@pytest.mark.parametrize(
    "path",
    [f"prefix/deeper/s/t/{V}/2026-11-18/CDC000001.csv", f"s/t/{V}/CDC000001.csv", "CDC/CDC000001.csv"],
)
def test_a_prefix_that_is_not_a_changefeeds_root_is_said(path: str) -> None:
    with pytest.raises(DecodeError, match="changefeed's own prefix"):
        PathForm(".csv", "day").read(path, 10)
