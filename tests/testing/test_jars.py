"""Jars are used only when they are what was pinned."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tailrace.errors import NotInstalled
from tailrace.testing.jars import jars

MODULE = ("org.example", "thing", "1.0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = tmp_path / "tailrace" / "jars" / "thing-1.0"
    made.mkdir(parents=True)
    (made / "thing-1.0.jar").write_bytes(b"thing")
    return made


def test_what_is_there_and_as_pinned_is_used(folder: Path) -> None:
    known = {"thing-1.0.jar": hashlib.sha256(b"thing").hexdigest()}
    assert jars(MODULE, known) == [folder / "thing-1.0.jar"]


def test_what_is_not_as_pinned_is_refused(folder: Path) -> None:
    with pytest.raises(NotInstalled, match="not what was pinned"):
        jars(MODULE, {"thing-1.0.jar": "0" * 64})
    with pytest.raises(NotInstalled, match=r"other-1\.0\.jar is missing"):
        jars(MODULE, {"other-1.0.jar": "0" * 64})
