"""A changefeed's TOML and sink URI -> one `ChangefeedConfig`.

TiCDC's files and URIs work unchanged: the same names, defaults and limits. Everything that can be known to be wrong
without asking the upstream or the target is a ConfigError here, never when data flows; what is only without effect is
a warning. The rules of filters and dispatchers are compiled by `route`, which knows their language.
"""

from __future__ import annotations

from typing import cast

from tailrace.config.kafka import SCHEMES as KAFKA
from tailrace.config.keys import UNUSED
from tailrace.config.secret import masked_uri
from tailrace.config.sink import read_sink
from tailrace.config.table import Table, read_toml
from tailrace.config.uri import SinkUri, parse_uri
from tailrace.config.values import ChangefeedConfig, EventFilter, FilterConfig, IntegrityLevel
from tailrace.errors import ConfigError

_MINUTE = 60.0
_LEAST_SECONDS = (
    ("sync-point-interval", 10 * _MINUTE, _MINUTE / 2),
    ("sync-point-retention", 24 * 60 * _MINUTE, 60 * _MINUTE),
)


def load_changefeed(uri: str, toml: str) -> ChangefeedConfig:
    """The checked configuration; raises ConfigError naming the key, what it may be and the nearest valid one."""
    root, parsed = read_toml(toml), parse_uri(uri)
    warnings = [f"{key} has no effect in Tailrace" for key in UNUSED if _given(root, key)]
    sink = read_sink(parsed, root, warnings)
    _check_unused(root)
    return ChangefeedConfig(
        scheme=parsed.scheme,
        uri=masked_uri(uri),
        case_sensitive=root.flag("case-sensitive"),
        force_replicate=root.flag("force-replicate"),
        ignore_ineligible_table=root.flag("ignore-ineligible-table"),
        integrity_check_level=_integrity(parsed, root, warnings),
        filter=_filter(root.table("filter")),
        sink=sink,
        warnings=tuple(warnings),
    )


def _filter(table: Table) -> FilterConfig:
    events = tuple(
        EventFilter(
            matcher=row.texts("matcher"),
            ignore_event=row.texts("ignore-event"),
            ignore_sql=row.texts("ignore-sql"),
            insert=row.text("ignore-insert-value-expr"),
            update_old=row.text("ignore-update-old-value-expr"),
            update_new=row.text("ignore-update-new-value-expr"),
            delete=row.text("ignore-delete-value-expr"),
        )
        for row in table.tables("event-filters")
    )
    return FilterConfig(table.texts("rules") or ("*.*",), table.numbers("ignore-txn-start-ts"), events)


def _given(table: Table, key: str) -> bool:
    name, dot, rest = key.partition(".")
    return table.has(name) and (not dot or _given(table.table(name), rest))


def _check_unused(root: Table) -> None:
    """Keys without effect have to be right all the same, so that a file that TiCDC refuses is refused."""
    durations = {key: (root.duration(key, usual), least) for key, usual, least in _LEAST_SECONDS}
    for key, (seconds, least) in durations.items():
        if root.flag("enable-sync-point") and seconds < least:
            raise ConfigError(f"{key} is {seconds:g} seconds; it may be {least:g} seconds or more")
    stuck = root.duration("changefeed-error-stuck-duration", 30 * _MINUTE)
    if stuck < 30 * _MINUTE:
        raise ConfigError(f"changefeed-error-stuck-duration is {stuck:g} seconds; it may be 1800 seconds or more")
    root.table("consistent").choice("level", "none", ("none", "eventual"))


def _integrity(uri: SinkUri, root: Table, warnings: list[str]) -> IntegrityLevel:
    table = root.table("integrity")
    level = cast(IntegrityLevel, table.choice("integrity-check-level", "none", ("none", "correctness")))
    table.choice("corruption-handle-level", "warn", ("warn", "error"))
    if level != "none" and uri.scheme not in KAFKA:
        warnings.append(f"{table.key('integrity-check-level')} is for Kafka; a {uri.scheme}:// sink does without")
        return "none"
    if level != "none" and root.table("sink").has("column-selectors"):
        raise ConfigError(f"{table.key('integrity-check-level')} and sink.column-selectors exclude each other")
    return level
