"""What must hold of plugins: the right class, made from its spec, or an error that says what to write or install."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType
from typing import Any

import pytest

from tailrace import plugins
from tailrace.errors import ConfigError, NotInstalled
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec


class _Made:
    def __init__(self, spec: object) -> None:
        self.spec = spec


@pytest.fixture
def fake_room(monkeypatch: pytest.MonkeyPatch) -> None:
    room: Any = ModuleType("room_of_a_test")
    room.Made = _Made
    monkeypatch.setitem(sys.modules, "room_of_a_test", room)
    monkeypatch.setitem(plugins.SINKS, "pail", ("room_of_a_test:Made", ""))
    monkeypatch.setitem(plugins.UPSTREAMS, "well", ("room_of_a_test:Made", ""))


@pytest.mark.usefixtures("fake_room")
def test_the_class_of_the_scheme_is_made_from_the_spec() -> None:
    sink = SinkSpec("s", "PAIL://somewhere")
    upstream = UpstreamSpec("well://somewhere")
    made_sink: object = plugins.open_sink(sink)
    made_upstream: object = plugins.open_upstream(upstream)
    assert isinstance(made_sink, _Made) and made_sink.spec is sink
    assert isinstance(made_upstream, _Made) and made_upstream.spec is upstream


@pytest.mark.parametrize(("uri", "nearest"), [("s4://b/p", "s3"), ("blackhol://", "blackhole"), ("flie:///x", "file")])
def test_an_unknown_scheme_names_the_nearest_and_all(uri: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plugins.open_sink(SinkSpec("s", uri))
    assert f"did you mean {nearest}://?" in str(refused.value)
    assert all(scheme in str(refused.value) for scheme in plugins.sink_schemes())


def test_a_uri_without_a_scheme_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="has no scheme") as refused:
        plugins.open_upstream(UpstreamSpec("user:geheim@host"))
    assert "geheim" not in str(refused.value)


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins.SINKS, "lake", ("module_that_nobody_has:Sink", "lakehouse"))
    with pytest.raises(NotInstalled, match=r"pip install 'tailrace\[lakehouse\]'"):
        plugins.open_sink(SinkSpec("s", "lake://x"))


def test_a_missing_room_of_ours_is_not_blamed_on_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins.SINKS, "lake", ("tailrace.sink.nowhere:Sink", "lakehouse"))
    with pytest.raises(NotInstalled, match="this installation lacks it"):
        plugins.open_sink(SinkSpec("s", "lake://x"))


@pytest.mark.usefixtures("fake_room")
def test_other_packages_may_add_schemes_but_not_take_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint(name, "room_of_a_test:Made", "tailrace.sinks") for name in ("bucketchain", "blackhole")]

    def found(group: str, name: str | None = None) -> EntryPoints:
        return EntryPoints(point for point in points if point.group == group and name in (None, point.name))

    monkeypatch.setattr(plugins, "entry_points", found)
    made: object = plugins.open_sink(SinkSpec("s", "bucketchain://x"))
    assert isinstance(made, _Made)
    assert plugins.sink_schemes().count("blackhole") == 1
    monkeypatch.setitem(plugins.SINKS, "blackhole", ("module_that_nobody_has:Sink", "x"))
    with pytest.raises(NotInstalled):
        plugins.open_sink(SinkSpec("s", "blackhole://"))
