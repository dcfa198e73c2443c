"""Names: every event that a log line may bear and every metric, in one place, so that a search for one finds all of it.

A log line states the object, what happened and what follows. There is one line for each change of state, never one for
each row, batch or range. A metric's labels are bounded: `subscription` by `metrics.MOST_SUBSCRIPTIONS`, the others by
what the code can say. No label ever holds a URI, a table, a key or a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SERVER_STARTED = "server-started"
SERVER_STOPPED = "server-stopped"
SERVER_TROUBLED = "server-troubled"
HTTP_STARTED = "http-started"
SERVER_RECOVERED = "server-recovered"
SUBSCRIBED = "subscribed"
CANCEL_ASKED = "cancel-asked"
CANCELLED = "cancelled"
CLAIMED = "claimed"
CLAIM_LOST = "claim-lost"
RELEASED = "released"
HANDED_OVER = "handed-over"
STATE_CHANGED = "state-changed"
PINS_KEPT = "pins-kept"

EVENTS = frozenset(value for name, value in dict(globals()).items() if name.isupper() and isinstance(value, str))

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` as Prometheus shows it: a counter's ends in `_total`, a histogram's gets `_bucket`, `_sum`, `_count`.

    Those that are `read` are not counted where they happen, but looked up when somebody asks.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    read: bool = False

    @property
    def series(self) -> tuple[str, ...]:
        """The names that its samples bear."""
        if self.kind == "histogram":
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


_SUBSCRIPTION = ("subscription",)
_JOB_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)

# What this server has moved, since it started.
ROWS = Metric("tailrace_rows_total", "counter", "Rows that are durable in the sink.", _SUBSCRIPTION)
BYTES = Metric("tailrace_bytes_total", "counter", "Bytes that are durable in the sink, as encoded.", _SUBSCRIPTION)
CUTS = Metric("tailrace_cuts_total", "counter", "Cuts that are delivered and saved as progress.", _SUBSCRIPTION)
ERRORS = Metric(
    "tailrace_errors_total", "counter", "Errors that stopped or delayed a delivery, by code.", (*_SUBSCRIPTION, "code")
)
STEP_SECONDS = Metric(
    "tailrace_cut_step_seconds_total", "counter", "Seconds of the driver in the steps of all cuts.", ("step",)
)
EVENTS_LOGGED = Metric("tailrace_events_total", "counter", "Named log lines: changes of state.", ("event",))

# Jobs and pieces.
JOB_SECONDS = Metric(
    "tailrace_job_seconds", "histogram", "How long Spark jobs ran, by how they ended.", ("result",), _JOB_SECONDS
)
JOBS_RUNNING = Metric("tailrace_jobs_running", "gauge", "Spark jobs that run now.")
PIECES_RUNNING = Metric("tailrace_pieces_running", "gauge", "Pieces in the jobs that run now.")
PIECE_SECONDS = Metric(
    "tailrace_piece_seconds_total", "counter", "Seconds of workers in the stages of pieces.", (*_SUBSCRIPTION, "stage")
)
PIECE_ERRORS = Metric("tailrace_piece_errors_total", "counter", "Attempts of pieces that failed, by code.", ("code",))
PIECES_ON_PROBATION = Metric(
    "tailrace_pieces_on_probation", "gauge", "Pieces of subscriptions that are not proven healthy, waiting or running."
)

# This server's hold on what it carries.
CLAIMS_HELD = Metric("tailrace_claims_held", "gauge", "Subscriptions that this server holds a lease on.", read=True)
LEASE_LEFT = Metric(
    "tailrace_lease_left_seconds", "gauge", "Until the first of this server's leases may be used no more.", read=True
)
ROUND_AGE = Metric("tailrace_round_age_seconds", "gauge", "Since this server's last round of work ended.", read=True)
META_UP = Metric("tailrace_meta_up", "gauge", "1: the meta database answered when it was last asked.", read=True)

# What the meta database says of all subscriptions of the cluster: the same on every server.
SUBSCRIPTIONS = Metric(
    "tailrace_subscriptions", "gauge", "Subscriptions of the cluster, by state.", ("state",), read=True
)
STATE = Metric(
    "tailrace_subscription_state", "gauge", "1 for the state that it is in.", (*_SUBSCRIPTION, "state"), read=True
)
ORPHANED = Metric(
    "tailrace_subscription_orphaned",
    "gauge",
    "1: it should be carried, and no server's lease on it runs.",
    _SUBSCRIPTION,
    read=True,
)
CAPTURED_LAG = Metric(
    "tailrace_captured_lag_seconds",
    "gauge",
    "How far what the upstream has resolved lies behind the clock, in every state.",
    _SUBSCRIPTION,
    read=True,
)
DELIVERED_LAG = Metric(
    "tailrace_delivered_lag_seconds",
    "gauge",
    "How far what is complete in the sink lies behind the clock, in every state.",
    _SUBSCRIPTION,
    read=True,
)
SNAPSHOT_RANGES_LEFT = Metric(
    "tailrace_snapshot_ranges_left", "gauge", "Ranges whose snapshot is not read to its end.", _SUBSCRIPTION, read=True
)
BUILD = Metric("tailrace_build_info", "gauge", "1, with the version of Tailrace.", ("version",), read=True)

METRICS = {each.name: each for each in dict(globals()).values() if isinstance(each, Metric)}
