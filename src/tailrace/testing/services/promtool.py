"""Prometheus' own tool, which parses, checks and tries out what Prometheus would read.

Built without the service discoveries of clouds: it reads files here, and nothing else.
"""

from __future__ import annotations

from tailrace.testing.services.component import Tool
from tailrace.testing.services.golang import GoProgram

PROGRAM = GoProgram(
    module="github.com/prometheus/prometheus",
    version="v0.315.0",
    hash="h1:sFGZWmC2Hk9N1NBJGCnXYZb5hyLCq8yuAMoEjLAg6ac=",
    package="./cmd/promtool",
    tags="remove_all_sd",
)

TOOL = Tool("promtool", f"Prometheus' checker of rules ({PROGRAM.version})", PROGRAM.install, PROGRAM.found)
