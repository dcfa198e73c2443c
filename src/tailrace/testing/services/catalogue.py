"""Which real components there are: one entry each."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.errors import NotFound
from tailrace.testing.services import s3, spark
from tailrace.testing.services.component import Component

COMPONENTS: Mapping[str, Component] = {each.name: each for each in (s3.COMPONENT, spark.COMPONENT)}


def component(name: str) -> Component:
    """The component of a name; raises NotFound with the names that there are."""
    if name not in COMPONENTS:
        raise NotFound(f"there is no component {name!r}; there are: {', '.join(sorted(COMPONENTS))}")
    return COMPONENTS[name]
