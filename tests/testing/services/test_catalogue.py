"""Components run and tools are called; each is asked for in its own way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.errors import NotFound
from tailrace.testing.services import is_up, program
from tailrace.testing.services.catalogue import COMPONENTS, LARGE, TOOLS, component, known, tool


def test_every_name_is_one_thing() -> None:
    assert not COMPONENTS.keys() & TOOLS.keys()
    assert {*COMPONENTS, *TOOLS} >= LARGE
    assert all(known(name).name == name for name in (*COMPONENTS, *TOOLS))


def test_a_name_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(NotFound, match="promtool, s3"):
        known("s4")


def test_a_tool_does_not_run_and_a_component_is_not_called() -> None:
    with pytest.raises(NotFound, match="is a tool"):
        component("promtool")
    with pytest.raises(NotFound, match="is a component"):
        tool("s3")


def test_a_tool_that_is_not_there_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not is_up("promtool")
    with pytest.raises(NotFound, match="scripts/services up promtool"):
        program("promtool")
