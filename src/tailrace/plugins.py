"""Plugins: which class serves which URI scheme, and what has to be installed for it.

One literal table per kind, so that the answer to "what can Tailrace speak?" is read and not searched for. A class is
imported when its scheme is first opened and never before. Schemes that are not in a table are looked up among the
entry points of other packages, in the groups `tailrace.sinks` and `tailrace.upstreams`; a name of the table can not
be taken by one. This module never looks at more of a URI than its scheme, so no secret can reach its messages.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol, cast

from tailrace.errors import ConfigError, NotInstalled

if TYPE_CHECKING:
    from tailrace.sink.base import Sink, SinkSpec
    from tailrace.upstream.base import Upstream, UpstreamSpec

_STORAGE = "tailrace.sink.storage.sink:StorageSink"
_FROM_STORAGE = "tailrace.upstream.storage.upstream:StorageUpstream"

SINKS: dict[str, tuple[str, str]] = {
    "file": (_STORAGE, ""),
    "nfs": (_STORAGE, ""),
    "s3": (_STORAGE, ""),
    "gcs": (_STORAGE, ""),
    "gs": (_STORAGE, ""),
    "azblob": (_STORAGE, ""),
    "azure": (_STORAGE, ""),
    "blackhole": ("tailrace.sink.blackhole:BlackholeSink", ""),
    "sqlite": ("tailrace.sink.mysql.sink:MysqlSink", ""),
}

UPSTREAMS: dict[str, tuple[str, str]] = {
    "dataserver": ("tailrace.upstream.dataserver.client:DataServerUpstream", ""),
    "memory": ("tailrace.upstream.memory:MemoryUpstream", ""),
    "file": (_FROM_STORAGE, ""),
    "nfs": (_FROM_STORAGE, ""),
    "s3": (_FROM_STORAGE, ""),
    "gcs": (_FROM_STORAGE, ""),
    "gs": (_FROM_STORAGE, ""),
    "azblob": (_FROM_STORAGE, ""),
    "azure": (_FROM_STORAGE, ""),
}

_SINK_GROUP = "tailrace.sinks"
_UPSTREAM_GROUP = "tailrace.upstreams"


class _MakesSink(Protocol):
    def __call__(self, spec: SinkSpec, /) -> Sink: ...


class _MakesUpstream(Protocol):
    def __call__(self, spec: UpstreamSpec, /) -> Upstream: ...


def open_sink(spec: SinkSpec) -> Sink:
    """The sink that serves the scheme of `spec.uri`."""
    return cast(_MakesSink, _find("sink", spec.uri, SINKS, _SINK_GROUP))(spec)


def open_upstream(spec: UpstreamSpec) -> Upstream:
    """The upstream that serves the scheme of `spec.uri`."""
    return cast(_MakesUpstream, _find("upstream", spec.uri, UPSTREAMS, _UPSTREAM_GROUP))(spec)


def sink_schemes() -> tuple[str, ...]:
    """Every scheme that `open_sink` knows, those of other packages last."""
    return _names(SINKS, _SINK_GROUP)


def upstream_schemes() -> tuple[str, ...]:
    """Every scheme that `open_upstream` knows, those of other packages last."""
    return _names(UPSTREAMS, _UPSTREAM_GROUP)


def scheme_of(uri: str) -> str:
    """The scheme of a URI in lower case, empty when it has none."""
    scheme, mark, _ = uri.partition("://")
    return scheme.lower() if mark else ""


def _names(table: dict[str, tuple[str, str]], group: str) -> tuple[str, ...]:
    return (*table, *(point.name for point in entry_points(group=group) if point.name not in table))


def _find(kind: str, uri: str, table: dict[str, tuple[str, str]], group: str) -> object:
    scheme = scheme_of(uri)
    if scheme in table:
        target, extra = table[scheme]
        return _load(EntryPoint(scheme, target, group), f"{kind} {scheme}://", extra)
    for point in entry_points(group=group, name=scheme):
        return _load(point, f"{kind} {scheme}:// of another package", "")
    names = _names(table, group)
    nearest = get_close_matches(scheme, names, n=1, cutoff=0.5)
    hint = f"; did you mean {nearest[0]}://?" if nearest else ""
    said = f"scheme {scheme!r}" if scheme else "no scheme"
    raise ConfigError(f"the {kind} URI has {said}; it may be one of {', '.join(names)}{hint}")


def _load(point: EntryPoint, what: str, extra: str) -> object:
    try:
        module = import_module(point.module)
    except ModuleNotFoundError as missing:
        name = missing.name or "of an unknown name"
        ours = name.partition(".")[0] == "tailrace"
        remedy = f"run pip install 'tailrace[{extra}]'" if extra and not ours else "this installation lacks it"
        raise NotInstalled(f"{what} needs the module {name}: {remedy}") from missing
    return getattr(module, point.attr)
