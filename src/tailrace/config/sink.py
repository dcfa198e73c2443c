"""`[sink]` with the parameters of the sink URI that mean the same; the URI wins.

Which keys are checked depends on the kind of sink, as in TiCDC: the options of CSV files and folders only for a
storage sink, a protocol only where there are messages or files.
"""

from __future__ import annotations

from typing import cast

from tailrace.config.csv import check_csv, read_csv
from tailrace.config.kafka import PARAMETERS as KAFKA_PARAMETERS
from tailrace.config.kafka import SCHEMES as KAFKA
from tailrace.config.kafka import read_kafka
from tailrace.config.messages import PARAMETERS as MESSAGE_PARAMETERS
from tailrace.config.messages import read_messages
from tailrace.config.storage import SCHEMES, check_parameters, read_storage
from tailrace.config.table import Table, unknown
from tailrace.config.uri import SinkUri
from tailrace.config.values import (
    Atomicity,
    ColumnSelector,
    DateSeparator,
    DispatchDialect,
    DispatchRule,
    SchemaDialect,
    SinkConfig,
)
from tailrace.errors import ConfigError

PROTOCOLS = {
    "default": "open-protocol",
    "open-protocol": "open-protocol",
    "canal": "canal",
    "canal-json": "canal-json",
    "avro": "avro",
    "flat-avro": "avro",
    "maxwell": "maxwell",
    "craft": "craft",
    "csv": "csv",
    "debezium": "debezium",
    "simple": "simple",
}
_OF_FILES = ("csv", "canal-json")
_QUEUES = frozenset({"kafka", "kafka+ssl", "pulsar", "pulsar+ssl"})
_DATABASES = frozenset({"mysql", "mysql+ssl", "tidb", "tidb+ssl"})
_SHARED = ("protocol", "transaction-atomicity")
_DATES = ("none", "year", "month", "day")
_DIGITS = (6, 20)
_OTHER_SINKS = ("pulsar-config", "mysql-config", "safe-mode")
_OF_QUEUES = ("dispatchers", "column-selectors")


def read_sink(uri: SinkUri, root: Table, warnings: list[str]) -> SinkConfig:
    """The sink's half of a changefeed. `root` is the whole file; warnings are added to the list."""
    table = root.table("sink")
    files = uri.scheme in SCHEMES
    csv = read_csv(table.table("csv"))
    if files:
        check_parameters(uri, (*_SHARED, *MESSAGE_PARAMETERS), warnings)
        check_csv(csv, table.table("csv"))
        unused = [name for name in (*_OTHER_SINKS, *_OF_QUEUES) if table.has(name)]
        warnings.extend(f"{table.key(name)} has no effect on a {uri.scheme}:// sink" for name in unused)
    elif uri.scheme in KAFKA:
        uri.refuse_others((*_SHARED, *KAFKA_PARAMETERS))
    protocol = _protocol(uri, table)
    return SinkConfig(
        protocol=protocol,
        terminator=table.text("terminator", "\r\n"),
        transaction_atomicity=_atomicity(uri, table),
        date_separator=_dates(table, warnings) if files else "day",
        enable_partition_separator=table.flag("enable-partition-separator", True),
        file_index_width=_digits(table, warnings) if files else _DIGITS[1],
        schema_dialect=cast(SchemaDialect, table.choice("schema-dialect", "classic", ("classic", "new"))),
        dispatch_dialect=cast(DispatchDialect, table.choice("dispatch-dialect", "tailrace", ("tailrace", "ticdc"))),
        delete_only_output_handle_key_columns=_keys_only(protocol, root),
        dispatchers=tuple(_dispatcher(row) for row in table.tables("dispatchers")),
        column_selectors=tuple(
            ColumnSelector(row.texts("matcher"), row.texts("columns")) for row in table.tables("column-selectors")
        ),
        csv=csv,
        messages=read_messages(uri, root, protocol),
        storage=read_storage(uri, table.table("cloud-storage-config"), warnings) if files else None,
        kafka=read_kafka(uri, table.table("kafka-config"), warnings) if uri.scheme in KAFKA else None,
    )


def _protocol(uri: SinkUri, table: Table) -> str:
    said = uri.text("protocol", table.text("protocol"))
    if uri.scheme in _DATABASES:
        if said:
            raise ConfigError(f"protocol is {said!r}, but a {uri.scheme}:// sink has none; leave it away")
        return ""
    protocol = PROTOCOLS.get(said.lower(), "")
    files, queue = uri.scheme in SCHEMES, uri.scheme in _QUEUES
    allowed = _OF_FILES if files else tuple(name for name in PROTOCOLS if name not in ("csv", "default"))
    if (files or queue) and not said:
        raise ConfigError(f"protocol is missing (in the URI, or sink.protocol); it may be {' or '.join(allowed)}")
    if (files or queue) and protocol not in allowed:
        raise unknown(f"the protocol of a {uri.scheme}:// sink:", said, allowed)
    return protocol


def _atomicity(uri: SinkUri, table: Table) -> Atomicity:
    said = uri.text("transaction-atomicity", table.text("transaction-atomicity"))
    allowed = ("none",) if uri.scheme in _QUEUES else ("none", "table")
    if said and said not in allowed:
        raise ConfigError(
            f"transaction-atomicity is {said!r}; for a {uri.scheme}:// sink it may be {' or '.join(allowed)}"
        )
    return cast(Atomicity, said)


def _dates(table: Table, warnings: list[str]) -> DateSeparator:
    """TiCDC accepts any case but knows only lower case when it writes; so another case is no level at all."""
    said = table.text("date-separator", "day")
    if not said or said in _DATES:
        return cast(DateSeparator, said or "none")
    key = table.key("date-separator")
    if said.lower() not in _DATES:
        raise unknown(f"{key}:", said, _DATES)
    warnings.append(f"{key} is {said!r}: as in TiCDC, folders get no dates; write {said.lower()!r} for that level")
    return "none"


def _digits(table: Table, warnings: list[str]) -> int:
    said = table.number("file-index-digit", 0)
    if _DIGITS[0] <= said <= _DIGITS[1]:
        return said
    if said:
        warnings.append(f"{table.key('file-index-digit')} is {said}; it may be from 6 to 20: 20 is taken")
    return _DIGITS[1]


def _keys_only(protocol: str, root: Table) -> bool:
    name = "delete-only-output-handle-key-columns"
    if not root.table("sink").flag(name):
        return False
    if protocol == "csv":
        raise ConfigError(f"sink.{name} is true, but the csv protocol shows all columns of a DELETE; leave it false")
    if root.flag("force-replicate"):
        raise ConfigError(f"sink.{name} and force-replicate exclude each other: a table without a key has no handle")
    return True


def _dispatcher(row: Table) -> DispatchRule:
    if row.text("dispatcher") and row.text("partition"):
        raise ConfigError(f"{row.path} has both dispatcher and partition, which mean the same; keep partition")
    return DispatchRule(
        matcher=row.texts("matcher"),
        partition=row.text("partition") or row.text("dispatcher"),
        index=row.text("index"),
        columns=row.texts("columns"),
        topic=row.text("topic"),
    )
