"""How tests and demos reach a component that runs."""

from __future__ import annotations

from typing import Literal

from tailrace.errors import NotFound
from tailrace.testing.services import daemon, s3
from tailrace.testing.services.catalogue import component


def is_up(name: str) -> bool:
    """Whether the component runs and answers."""
    known = component(name)
    place = daemon.find(known)
    return place is not None and known.ready(place)


def connection(name: Literal["s3"]) -> s3.S3Connection:
    """The client's side of a component; raises NotFound, with how to start it, where it does not run."""
    place = daemon.find(component(name))
    if place is None:
        raise NotFound(f"{name} does not run; `scripts/services up {name}` starts it")
    return s3.connection(place)
