"""How tests and demos reach a component that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, overload

from tailrace.errors import NotFound
from tailrace.testing.services import daemon, s3, spark
from tailrace.testing.services.catalogue import component
from tailrace.testing.services.component import Place


def is_up(name: str) -> bool:
    """Whether the component runs and answers."""
    known = component(name)
    place = daemon.find(known)
    return place is not None and known.ready(place)


@overload
def connection(name: Literal["s3"]) -> s3.S3Connection: ...


@overload
def connection(name: Literal["spark"]) -> spark.SparkConnection: ...


def connection(name: str) -> object:
    """The client's side of a component; raises NotFound, with how to start it, where it does not run."""
    place = daemon.find(component(name))
    if place is None:
        raise NotFound(f"{name} does not run; `scripts/services up {name}` starts it")
    return _CONNECTIONS[name](place)


_CONNECTIONS: dict[str, Callable[[Place], object]] = {"s3": s3.connection, "spark": spark.connection}
