"""Messages: the values of `server` as the seed's messages and back. Pure.

An error crosses as its own kind, with the places it names, and is the same error on the other side.
"""

from __future__ import annotations

from typing import cast

from tailrace.errors import TailraceError, Transient, from_fields
from tailrace.pipeline.assignment import Report
from tailrace.proto.base_pb2 import CDCError
from tailrace.proto.server_pb2 import CDCReport, CDCSubscriber, SubscribeCDCRequest
from tailrace.server.grpc.sinks import sink_uri
from tailrace.server.records import State, Subscription
from tailrace.server.reports import AgedReport
from tailrace.server.requests import SubscribeRequest
from tailrace.server.subscriptions import Status

_REPORT = tuple(field.name for field in CDCReport.DESCRIPTOR.fields)


def error_message(error: TailraceError) -> CDCError:
    wait = error.retry_after if isinstance(error, Transient) else 0.0
    return CDCError(
        code=error.code,
        kind=type(error).__name__,
        message=error.message,
        subscription=error.subscription,
        table=error.table,
        position=error.position,
        retry_after=wait,
    )


def error_value(message: CDCError) -> TailraceError:
    places = {"subscription": message.subscription, "table": message.table, "position": message.position}
    error = from_fields({"kind": message.kind, "message": message.message} | places)
    if isinstance(error, Transient):
        error.retry_after = message.retry_after
    return error


def request_message(request: SubscribeRequest) -> SubscribeCDCRequest:
    return SubscribeCDCRequest(
        subscriber_name=request.name,
        upstream=request.upstream,
        sink_uri=request.sink,
        config=request.config,
        rules=request.rules,
        start=request.start,
        end=request.end,
        time_zone=request.time_zone,
    )


def request_value(message: SubscribeCDCRequest) -> SubscribeRequest:
    """As the seed asks (a table and a sink by its parts), or by what was added. Raises ConfigError."""
    table = f"{_quoted(message.db_name)}.{_quoted(message.table_name)}" if message.table_name else ""
    return SubscribeRequest(
        name=message.subscriber_name,
        upstream=message.upstream,
        sink=message.sink_uri or sink_uri(message.sink.type, dict(message.sink.config)),
        config=message.config,
        rules=tuple(message.rules) or ((table,) if table else ()),
        start=message.start or "snapshot",
        end=message.end,
        time_zone=message.time_zone or "UTC",
    )


def status_message(status: Status) -> CDCSubscriber:
    of, report = status.subscription, status.report
    return CDCSubscriber(
        name=of.name,
        upstream=of.upstream,
        sink=of.sink,
        tables=of.tables,
        rules=of.rules,
        case_sensitive=of.case_sensitive,
        start=of.start,
        end_ts=of.end_ts,
        time_zone=of.time_zone,
        state=of.state,
        error=error_message(of.error) if of.error else None,
        owner=of.owner,
        epoch=of.epoch,
        created_ms=of.created_ms,
        cut=of.cut,
        checkpoint_ts=of.checkpoint_ts,
        report=_report_message(report.report) if report else None,
        report_age_ms=int(report.age_seconds * 1000) if report else -1,
        warnings=status.warnings,
    )


def status_value(message: CDCSubscriber) -> Status:
    subscription = Subscription(
        name=message.name,
        upstream=message.upstream,
        sink=message.sink,
        config="",
        rules=tuple(message.rules),
        case_sensitive=message.case_sensitive,
        start=message.start,
        end_ts=message.end_ts,
        time_zone=message.time_zone,
        tables=tuple(message.tables),
        state=cast(State, message.state),
        error=error_value(message.error) if message.HasField("error") else None,
        owner=message.owner,
        epoch=message.epoch,
        created_ms=message.created_ms,
        cut=message.cut,
        checkpoint_ts=message.checkpoint_ts,
    )
    aged = None
    if message.report_age_ms >= 0:
        report = Report(**{name: getattr(message.report, name) for name in _REPORT})
        aged = AgedReport(report, message.report_age_ms / 1000)
    return Status(subscription, aged, tuple(message.warnings))


def _report_message(report: Report) -> CDCReport:
    return CDCReport(**{name: getattr(report, name) for name in _REPORT})


def _quoted(name: str) -> str:
    """A name as a filter rule that matches nothing else."""
    return "`" + name.replace("`", "``") + "`"
