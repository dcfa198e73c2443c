"""How tests and demos reach a component that runs, and a tool that is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, overload

from tailrace.errors import NotFound
from tailrace.pipeline.java import cache_folder
from tailrace.testing.services import azure, daemon, gcs, s3, spark
from tailrace.testing.services.catalogue import component, known, tool
from tailrace.testing.services.component import Place, Tool

Cloud = Literal["s3", "gcs", "azure"]
Store = s3.S3Connection | gcs.GcsConnection | azure.AzureConnection


def is_up(name: str) -> bool:
    """Whether the component runs and answers, or the tool is there."""
    what = known(name)
    if isinstance(what, Tool):
        return what.found(cache_folder() / "bin") is not None
    place = daemon.find(what)
    return place is not None and what.ready(place)


def program(name: Literal["promtool"]) -> Path:
    """The path of a tool; raises NotFound, with how to get it, where it is not there."""
    found = tool(name).found(cache_folder() / "bin")
    if found is None:
        raise NotFound(f"{name} is not there; `scripts/services up {name}` gets it")
    return found


@overload
def connection(name: Literal["s3"]) -> s3.S3Connection: ...
@overload
def connection(name: Literal["gcs"]) -> gcs.GcsConnection: ...
@overload
def connection(name: Literal["azure"]) -> azure.AzureConnection: ...
@overload
def connection(name: Literal["spark"]) -> spark.SparkConnection: ...
@overload
def connection(name: Cloud) -> Store: ...


def connection(name: str) -> object:
    """The client's side of a component; raises NotFound, with how to start it, where it does not run."""
    place = daemon.find(component(name))
    if place is None:
        raise NotFound(f"{name} does not run; `scripts/services up {name}` starts it")
    return _CONNECTIONS[name](place)


_CONNECTIONS: dict[str, Callable[[Place], object]] = {
    "azure": azure.connection,
    "gcs": gcs.connection,
    "s3": s3.connection,
    "spark": spark.connection,
}
