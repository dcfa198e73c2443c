"""Every key of a changefeed's TOML with the kind of its value: TiCDC's, then ours. One literal tree.

A key that is not here is refused. `UNUSED` are keys of TiCDC which Tailrace reads and has no use for: giving one is a
warning, not an error, so that a file written for TiCDC works unchanged.
"""

from __future__ import annotations

from enum import Enum
from typing import Union


class Kind(Enum):
    """What a value may be; the text is how an error says it."""

    BOOL = "true or false"
    INT = "a whole number"
    UINT = "a whole number, 0 or more"
    TEXT = "a text"
    TEXTS = "an array of texts"
    UINTS = "an array of whole numbers, 0 or more"
    DURATION = 'a duration such as "10m"'


Tree = dict[str, Union[Kind, "Tree", list["Tree"]]]

_FLAG, _INT, _UINT, _TEXT, _TEXTS, _TIME = Kind.BOOL, Kind.INT, Kind.UINT, Kind.TEXT, Kind.TEXTS, Kind.DURATION

_FILTER: Tree = {
    "rules": _TEXTS,
    "ignore-txn-start-ts": Kind.UINTS,
    "event-filters": [
        {
            "matcher": _TEXTS,
            "ignore-event": _TEXTS,
            "ignore-sql": _TEXTS,
            "ignore-insert-value-expr": _TEXT,
            "ignore-update-new-value-expr": _TEXT,
            "ignore-update-old-value-expr": _TEXT,
            "ignore-delete-value-expr": _TEXT,
        }
    ],
}

_CSV: Tree = {
    "delimiter": _TEXT,
    "quote": _TEXT,
    "null": _TEXT,
    "include-commit-ts": _FLAG,
    "binary-encoding-method": _TEXT,
    "output-old-value": _FLAG,
    "output-handle-key": _FLAG,
    "output-field-header": _FLAG,
}

_STORAGE: Tree = {
    "worker-count": _INT,
    "flush-interval": _TEXT,
    "file-size": _INT,
    "output-column-id": _FLAG,
    "file-expiration-days": _INT,
    "file-cleanup-cron-spec": _TEXT,
    "flush-concurrency": _INT,
    "output-raw-change-event": _FLAG,
}

_GLUE: Tree = dict.fromkeys(("registry-name", "region", "access-key", "secret-access-key", "token"), _TEXT)

_KAFKA: Tree = {
    "partition-num": _INT,
    "replication-factor": _INT,
    "kafka-version": _TEXT,
    "max-message-bytes": _INT,
    "compression": _TEXT,
    "kafka-client-id": _TEXT,
    "auto-create-topic": _FLAG,
    "dial-timeout": _TEXT,
    "write-timeout": _TEXT,
    "read-timeout": _TEXT,
    "required-acks": _INT,
    "sasl-user": _TEXT,
    "sasl-password": _TEXT,
    "sasl-mechanism": _TEXT,
    "sasl-gssapi-auth-type": _TEXT,
    "sasl-gssapi-keytab-path": _TEXT,
    "sasl-gssapi-kerberos-config-path": _TEXT,
    "sasl-gssapi-service-name": _TEXT,
    "sasl-gssapi-user": _TEXT,
    "sasl-gssapi-password": _TEXT,
    "sasl-gssapi-realm": _TEXT,
    "sasl-gssapi-disable-pafxfast": _FLAG,
    "sasl-oauth-client-id": _TEXT,
    "sasl-oauth-client-secret": _TEXT,
    "sasl-oauth-token-url": _TEXT,
    "sasl-oauth-scopes": _TEXTS,
    "sasl-oauth-grant-type": _TEXT,
    "sasl-oauth-audience": _TEXT,
    "enable-tls": _FLAG,
    "ca": _TEXT,
    "cert": _TEXT,
    "key": _TEXT,
    "insecure-skip-verify": _FLAG,
    "output-raw-change-event": _FLAG,
    "codec-config": {
        "enable-tidb-extension": _FLAG,
        "max-batch-size": _INT,
        "avro-enable-watermark": _FLAG,
        "avro-decimal-handling-mode": _TEXT,
        "avro-bigint-unsigned-handling-mode": _TEXT,
        "encoding-format": _TEXT,
    },
    "large-message-handle": {
        "large-message-handle-option": _TEXT,
        "large-message-handle-compression": _TEXT,
        "claim-check-storage-uri": _TEXT,
        "claim-check-raw-value": _FLAG,
    },
    "glue-schema-registry-config": _GLUE,
}

_PULSAR: Tree = {
    "tls-key-file-path": _TEXT,
    "tls-certificate-file": _TEXT,
    "tls-trust-certs-file-path": _TEXT,
    "pulsar-producer-cache-size": _INT,
    "pulsar-version": _TEXT,
    "compression-type": _TEXT,
    "authentication-token": _TEXT,
    "connection-timeout": _INT,
    "operation-timeout": _INT,
    "batching-max-messages": _UINT,
    "batching-max-publish-delay": _INT,
    "send-timeout": _INT,
    "token-from-file": _TEXT,
    "basic-user-name": _TEXT,
    "basic-password": _TEXT,
    "auth-tls-certificate-path": _TEXT,
    "auth-tls-private-key-path": _TEXT,
    "output-raw-change-event": _FLAG,
    "oauth2": dict.fromkeys(
        ("oauth2-issuer-url", "oauth2-audience", "oauth2-private-key", "oauth2-client-id", "oauth2-scope"), _TEXT
    ),
}

_MYSQL: Tree = {
    "worker-count": _INT,
    "max-txn-row": _INT,
    "max-multi-update-row-size": _INT,
    "max-multi-update-row": _INT,
    "tidb-txn-mode": _TEXT,
    "ssl-ca": _TEXT,
    "ssl-cert": _TEXT,
    "ssl-key": _TEXT,
    "time-zone": _TEXT,
    "write-timeout": _TEXT,
    "read-timeout": _TEXT,
    "timeout": _TEXT,
    "enable-batch-dml": _FLAG,
    "enable-multi-statement": _FLAG,
    "enable-cache-prepared-statement": _FLAG,
}

_SINK: Tree = {
    "transaction-atomicity": _TEXT,
    "protocol": _TEXT,
    "dispatchers": [
        {
            "matcher": _TEXTS,
            "dispatcher": _TEXT,
            "partition": _TEXT,
            "index": _TEXT,
            "columns": _TEXTS,
            "topic": _TEXT,
        }
    ],
    "column-selectors": [{"matcher": _TEXTS, "columns": _TEXTS}],
    "schema-registry": _TEXT,
    "encoder-concurrency": _INT,
    "terminator": _TEXT,
    "date-separator": _TEXT,
    "enable-partition-separator": _FLAG,
    "file-index-digit": _INT,
    "enable-kafka-sink-v2": _FLAG,
    "only-output-updated-columns": _FLAG,
    "delete-only-output-handle-key-columns": _FLAG,
    "content-compatible": _FLAG,
    "safe-mode": _FLAG,
    "advance-timeout-in-sec": _UINT,
    "send-bootstrap-interval-in-sec": _INT,
    "send-bootstrap-in-msg-count": _INT,
    "send-bootstrap-to-all-partition": _FLAG,
    "send-all-bootstrap-at-start": _FLAG,
    "debezium-disable-schema": _FLAG,
    "open": {"output-old-value": _FLAG},
    "debezium": {"output-old-value": _FLAG},
    "csv": _CSV,
    "cloud-storage-config": _STORAGE,
    "kafka-config": _KAFKA,
    "pulsar-config": _PULSAR,
    "mysql-config": _MYSQL,
    "schema-dialect": _TEXT,
    "dispatch-dialect": _TEXT,
}

ROOT: Tree = {
    "memory-quota": _UINT,
    "case-sensitive": _FLAG,
    "force-replicate": _FLAG,
    "check-gc-safe-point": _FLAG,
    "enable-sync-point": _FLAG,
    "enable-table-monitor": _FLAG,
    "ignore-ineligible-table": _FLAG,
    "bdr-mode": _FLAG,
    "sync-point-interval": _TIME,
    "sync-point-retention": _TIME,
    "changefeed-error-stuck-duration": _TIME,
    "sql-mode": _TEXT,
    "filter": _FILTER,
    "sink": _SINK,
    "mounter": {"worker-num": _INT},
    "consistent": {
        "level": _TEXT,
        "max-log-size": _INT,
        "flush-interval": _INT,
        "meta-flush-interval": _INT,
        "encoding-worker-num": _INT,
        "flush-worker-num": _INT,
        "storage": _TEXT,
        "use-file-backend": _FLAG,
        "compression": _TEXT,
        "flush-concurrency": _INT,
        "memory-usage": {"memory-quota-percentage": _UINT},
    },
    "scheduler": {
        "enable-table-across-nodes": _FLAG,
        "region-threshold": _INT,
        "write-key-threshold": _INT,
        "region-per-span": _INT,
    },
    "integrity": {"integrity-check-level": _TEXT, "corruption-handle-level": _TEXT},
    "synced-status": {"synced-check-interval": _INT, "checkpoint-interval": _INT},
}

UNUSED = (
    "memory-quota",
    "check-gc-safe-point",
    "enable-sync-point",
    "enable-table-monitor",
    "bdr-mode",
    "sync-point-interval",
    "sync-point-retention",
    "changefeed-error-stuck-duration",
    "sql-mode",
    "mounter",
    "consistent",
    "scheduler",
    "synced-status",
    "sink.encoder-concurrency",
    "sink.enable-kafka-sink-v2",
    "sink.advance-timeout-in-sec",
)
