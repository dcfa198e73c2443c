"""Which real components and tools there are: one entry each."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.errors import NotFound
from tailrace.testing.services import azure, gcs, promtool, s3, spark
from tailrace.testing.services.component import Component, Tool

COMPONENTS: Mapping[str, Component] = {
    each.name: each for each in (azure.COMPONENT, gcs.COMPONENT, s3.COMPONENT, spark.COMPONENT)
}
TOOLS: Mapping[str, Tool] = {each.name: each for each in (promtool.TOOL,)}
# What `up` without a name leaves out, because it is large: it is asked for by name.
LARGE = frozenset({"azure"})


def known(name: str) -> Component | Tool:
    """What is called so; raises NotFound with the names that there are."""
    found = COMPONENTS.get(name) or TOOLS.get(name)
    if found is None:
        raise NotFound(f"there is no component {name!r}; there are: {', '.join(sorted([*COMPONENTS, *TOOLS]))}")
    return found


def component(name: str) -> Component:
    """The component of a name; raises NotFound with the names that there are."""
    found = known(name)
    if isinstance(found, Tool):
        raise NotFound(f"{name} is a tool, which is called and does not run")
    return found


def tool(name: str) -> Tool:
    """The tool of a name; raises NotFound with the names that there are."""
    found = known(name)
    if not isinstance(found, Tool):
        raise NotFound(f"{name} is a component that runs, not a tool")
    return found
