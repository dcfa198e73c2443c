"""Health: the pages that a probe and a scraper ask for.

| page | 200 means | 503 means |
| --- | --- | --- |
| `/healthz` | the process works | it never will again: restart it |
| `/readyz` | it can carry, and the meta database answers | Spark is not up, it is stopping, or the database is away |
| `/metrics` | all metrics in Prometheus' text format | |

A meta database that is away is no reason to restart a server: its deliveries go on as long as their leases do.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.observe.metrics import CONTENT_TYPE, METER, Meter
from tailrace.server.http_port import Answer, Pages
from tailrace.server.overview import Overview, service_readings
from tailrace.server.service import Service

# Rounds come twice a second, and one may wait for a database that is away; one that takes this long hangs.
HUNG_SECONDS = 120.0


def pages(service: Service, overview: Overview, meter: Meter = METER) -> Pages:
    sources = (overview.readings, lambda: service_readings(service))
    return {
        "/healthz": lambda: _probe(lambda: _dead(service)),
        "/readyz": lambda: _probe(lambda: _dead(service) or _away(service, overview)),
        "/metrics": lambda: Answer(meter.exposition(sources), content_type=CONTENT_TYPE),
    }


def _probe(trouble: Callable[[], str]) -> Answer:
    said = trouble()
    return Answer(f"{said or 'ok'}\n".encode(), 503 if said else 200)


def _dead(service: Service) -> str:
    try:
        service.wait(0)
    except BaseException as error:
        return f"the service has ended: {type(error).__name__}"
    if service.round_age > HUNG_SECONDS:
        return f"the last round of the service ended {service.round_age:.0f} s ago"
    return ""


def _away(service: Service, overview: Overview) -> str:
    if service.wait(0):
        return "the server is stopping"
    if not service.can_carry:
        return "Spark is not up yet"
    trouble = overview.trouble()
    return f"{trouble.code}: the meta database does not answer" if trouble else ""
