"""Subscriptions: the one object behind every interface (gRPC, REST, SQL, the command line).

`subscribe` finds everything that is wrong before anything is written, and says all of it at once: the request, the
configuration, the sink as it answers now, the upstream as it answers now. So a subscription that exists has been seen
to work once. What leaves this object is masked: it bears no secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tailrace import plugins
from tailrace.change.schema import TableSchema
from tailrace.config import load_changefeed
from tailrace.errors import ConfigError, TailraceError
from tailrace.observe import names
from tailrace.observe.lag import lag_seconds
from tailrace.observe.logs import say
from tailrace.progress.database import MetaDatabase
from tailrace.route.filter import TableFilter
from tailrace.server.records import Records, Subscription
from tailrace.server.reports import AgedReport, Reports
from tailrace.server.requests import SubscribeRequest
from tailrace.sink.base import Problem, SinkSpec
from tailrace.upstream.base import UpstreamSpec

logger = logging.getLogger(__name__)

EVERYTHING = ("*.*",)


@dataclass(frozen=True, slots=True)
class Status:
    """A subscription, masked, and the newest report of it.

    `lag_seconds` is what its lag is now; None before the first report, and once nothing more will come. `warnings` come
    with the answer to `subscribe` alone: what was asked for and has no effect.
    """

    subscription: Subscription
    report: AgedReport | None
    warnings: tuple[str, ...] = ()

    @property
    def lag_seconds(self) -> float | None:
        if self.report is None or self.subscription.state in ("finished", "cancelled"):
            return None
        return lag_seconds(self.report.report.lag_seconds, self.report.age_seconds)


class Subscriptions:
    """Of one cluster. Safe to share between threads. `changed` is called after each change, to wake the server."""

    def __init__(self, meta: MetaDatabase, cluster_id: int, changed: Callable[[], None] = lambda: None) -> None:
        self._records = Records(meta, cluster_id)
        self._reports = Reports(meta, cluster_id)
        self._changed = changed

    def subscribe(self, request: SubscribeRequest) -> Status:
        """Make a subscription. ConfigError with everything that is wrong, AlreadyExists, or what the upstream says."""
        findings = _Findings(request.problems())
        chosen = _choose(request, findings)
        _try_sink(request, findings)
        start, tables = _ask_upstream(request, chosen, findings)
        if findings.problems:
            said = "; ".join(f"{each.key}: {each.message}" for each in findings.problems)
            raise ConfigError(said, subscription=request.name)
        self._records.add(
            Subscription(
                name=request.name,
                upstream=request.upstream,
                sink=request.sink,
                config=request.config,
                rules=chosen.rules,
                case_sensitive=chosen.case_sensitive,
                start=start,
                end_ts=request.end_ts,
                time_zone=request.time_zone,
            ),
            tables,
        )
        say(logger, logging.INFO, names.SUBSCRIBED, subscription=request.name, sink=request.sink, tables=len(tables))
        self._changed()
        return replace(self.status(request.name), warnings=tuple(findings.warnings))

    def cancel(self, name: str) -> Status:
        """Ask for the end of a subscription; a server carries it out. NotFound where there is none."""
        self._records.cancel(name)
        say(logger, logging.INFO, names.CANCEL_ASKED, subscription=name)
        self._changed()
        return self.status(name)

    def status(self, name: str) -> Status:
        """NotFound where there is none."""
        return _status(self._records.get(name), self._reports.load([name]).get(name))

    def all(self) -> list[Status]:
        """All by name, cancelled ones too."""
        reports = self._reports.load()
        return [_status(each, reports.get(each.name)) for each in self._records.all()]


def _status(record: Subscription, report: AgedReport | None) -> Status:
    """The checkpoint is what is durable in the sink: of time without changes the ledger hears only now and then."""
    durable = report.report.to_ts if report is not None else 0
    shown = record.masked()
    return Status(replace(shown, checkpoint_ts=durable) if durable > shown.checkpoint_ts else shown, report)


@dataclass(slots=True)
class _Findings:
    """What is wrong with a request, all of it, and what of it has no effect."""

    problems: list[Problem]
    warnings: list[str] = field(default_factory=list)

    def add(self, key: str, message: str) -> None:
        self.problems.append(Problem(key, message))

    def of(self, *keys: str) -> bool:
        return any(each.key in keys for each in self.problems)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which tables a request means, by the configuration or by rules of its own."""

    rules: tuple[str, ...] = EVERYTHING
    case_sensitive: bool = False
    force_replicate: bool = False


def _choose(request: SubscribeRequest, findings: _Findings) -> _Choice:
    try:
        changefeed = load_changefeed(request.sink, request.config)
    except ConfigError as error:
        findings.add("config", error.message)
        return _Choice()
    findings.warnings += changefeed.warnings
    if request.rules and changefeed.filter.rules != EVERYTHING:
        findings.add("filter", "rules may stand in the configuration or in the request, not in both")
    rules = request.rules or changefeed.filter.rules
    try:
        TableFilter(rules, changefeed.case_sensitive)
    except ConfigError as error:
        findings.add("filter", error.message)
    return _Choice(rules, changefeed.case_sensitive, changefeed.force_replicate)


def _try_sink(request: SubscribeRequest, findings: _Findings) -> None:
    """A sink is made of every configuration that can be read; it is asked whether all is well once all else is."""
    if findings.of("config", "time zone"):
        return
    try:
        sink = plugins.open_sink(SinkSpec(request.name, request.sink, request.config, request.time_zone))
    except ConfigError as error:
        findings.add("sink", error.message)
        return
    try:
        if not findings.problems:
            findings.problems += sink.verify()
    finally:
        sink.close()


def _ask_upstream(request: SubscribeRequest, chosen: _Choice, findings: _Findings) -> tuple[str, list[TableSchema]]:
    """Where to start, and the tables that match there. `now` is the moment of this request, not of a later one."""
    try:
        upstream = plugins.open_upstream(UpstreamSpec(request.upstream, request.time_zone))
    except ConfigError as error:
        findings.add("upstream", error.message)
        return request.start, []
    try:
        now = upstream.now()
        start = str(now) if request.start == "now" else request.start
        if start == "snapshot" and not upstream.has_snapshot:
            findings.add(
                "start", "this upstream has no snapshot, only changes: start from a timestamp, 1 for all of them"
            )
        if findings.problems:
            return start, []
        if start.isdigit() and int(start) > now:
            findings.add("start", f"{start} is in the future: the upstream's clock is at {now}")
        at = min(int(start), now) if start.isdigit() else now
        tables = upstream.tables(TableFilter(chosen.rules, chosen.case_sensitive), at)
    except TailraceError as error:
        error.at(subscription=request.name)
        raise
    finally:
        upstream.close()
    keyless = [] if chosen.force_replicate else [table.full_name for table in tables if not table.handle_key]
    findings.warnings += [f"{name} has no primary key and no unique key over NOT NULL columns" for name in keyless]
    return start, tables
