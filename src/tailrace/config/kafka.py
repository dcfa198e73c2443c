"""Kafka sinks: the URI `kafka://host:port,host:port/topic?...` and `[sink.kafka-config]`, with TiCDC's defaults.

The URI wins over the file. Nothing is connected to: what only a broker knows is not checked here.
"""

from __future__ import annotations

import base64
import binascii
import re

from tailrace.config.messages import PARAMETERS as MESSAGE_PARAMETERS
from tailrace.config.secret import Secret, is_secret_name
from tailrace.config.table import Table, choice_of, duration_of
from tailrace.config.uri import SinkUri
from tailrace.config.values import KafkaConfig, KafkaTls
from tailrace.errors import ConfigError

SCHEMES = frozenset({"kafka", "kafka+ssl"})
_SASL_TEXTS = (
    "sasl-user",
    "sasl-password",
    "sasl-mechanism",
    "sasl-gssapi-auth-type",
    "sasl-gssapi-keytab-path",
    "sasl-gssapi-kerberos-config-path",
    "sasl-gssapi-service-name",
    "sasl-gssapi-user",
    "sasl-gssapi-password",
    "sasl-gssapi-realm",
)
_OAUTH = ("sasl-oauth-client-id", "sasl-oauth-client-secret", "sasl-oauth-token-url")
_OAUTH_MORE = ("sasl-oauth-grant-type", "sasl-oauth-audience")
_TLS = ("enable-tls", "ca", "cert", "key", "insecure-skip-verify")
_OWN = (
    "partition-num",
    "replication-factor",
    "kafka-version",
    "compression",
    "kafka-client-id",
    "auto-create-topic",
    "dial-timeout",
    "write-timeout",
    "read-timeout",
    "required-acks",
    "max-retry",
    "sasl-gssapi-disable-pafxfast",
)
PARAMETERS = (*_OWN, *_SASL_TEXTS, *_TLS, *MESSAGE_PARAMETERS)
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_CLIENT_ID = re.compile(r"[A-Za-z0-9._-]+")


def read_kafka(uri: SinkUri, table: Table, warnings: list[str]) -> KafkaConfig:
    """`table` is `[sink.kafka-config]`."""
    topic = uri.path.strip("/")
    if not topic or not uri.authority:
        raise ConfigError(f"a {uri.scheme}:// URI names brokers and a topic, as {uri.scheme}://127.0.0.1:9092/topic")
    partitions = _number(uri, table, "partition-num", 0)
    if partitions <= 0 and (uri.has("partition-num") or table.has("partition-num")):
        raise ConfigError(f"partition-num is {partitions}; it may be 1 or more")
    acks = _number(uri, table, "required-acks", -1)
    choice_of(str(acks), "required-acks", ("0", "1", "-1"))
    client_id = _text(uri, table, "kafka-client-id")
    if client_id and not _CLIENT_ID.fullmatch(client_id):
        raise ConfigError(f"kafka-client-id is {client_id!r}; it may be letters, digits, dot, _ and -")
    options, secrets = _sasl(uri, table)
    return KafkaConfig(
        brokers=tuple(uri.authority.split(",")),
        topic=topic,
        partition_num=partitions,
        replication_factor=_number(uri, table, "replication-factor", 1),
        kafka_version=_text(uri, table, "kafka-version"),
        compression=_compression(_text(uri, table, "compression") or "none", warnings),
        client_id=client_id,
        auto_create_topic=uri.flag("auto-create-topic", table.flag("auto-create-topic", True)),
        dial_timeout=_timeout(uri, table, "dial-timeout"),
        write_timeout=_timeout(uri, table, "write-timeout"),
        read_timeout=_timeout(uri, table, "read-timeout"),
        required_acks=acks,
        max_retry=uri.number("max-retry", 5),
        output_raw_change_event=table.flag("output-raw-change-event"),
        tls=_tls(uri, table),
        sasl_options=options,
        sasl_secrets=secrets,
    )


def _text(uri: SinkUri, table: Table, name: str) -> str:
    return uri.text(name) or table.text(name)


def _number(uri: SinkUri, table: Table, name: str, default: int) -> int:
    return uri.number(name, table.number(name, default))


def _timeout(uri: SinkUri, table: Table, name: str) -> float:
    return duration_of(_text(uri, table, name) or "10s", name)


def _compression(said: str, warnings: list[str]) -> str:
    if said.lower() in _COMPRESSIONS:
        return said.lower()
    warnings.append(f"compression is {said!r}; it may be {' or '.join(_COMPRESSIONS)}: none is taken")
    return "none"


def _tls(uri: SinkUri, table: Table) -> KafkaTls:
    files = {name: _text(uri, table, name) for name in ("ca", "cert", "key")}
    if any(files.values()) and not all(files.values()):
        missing = [name for name, path in files.items() if not path]
        raise ConfigError(f"ca, cert and key go together; {' and '.join(missing)} is missing")
    enabled = uri.flag("enable-tls", table.flag("enable-tls", any(files.values())))
    if any(files.values()) and not enabled:
        raise ConfigError("enable-tls is false, but ca, cert and key are given; leave one of both away")
    skip = uri.flag("insecure-skip-verify", table.flag("insecure-skip-verify"))
    return KafkaTls(enabled, files["ca"], files["cert"], files["key"], enabled and skip)


def _sasl(uri: SinkUri, table: Table) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, Secret], ...]]:
    """The options of authentication that were given, plain ones and secrets."""
    given = {name: _text(uri, table, name) for name in _SASL_TEXTS}
    given |= {name: table.text(name) for name in (*_OAUTH, *_OAUTH_MORE)}
    given["sasl-oauth-scopes"] = " ".join(table.texts("sasl-oauth-scopes"))
    mechanism = given["sasl-mechanism"].upper()
    if mechanism:
        given["sasl-mechanism"] = choice_of(mechanism, "sasl-mechanism", _MECHANISMS)
    if given["sasl-gssapi-auth-type"]:
        choice_of(given["sasl-gssapi-auth-type"].upper(), "sasl-gssapi-auth-type", ("USER", "KEYTAB"))
    if uri.flag("sasl-gssapi-disable-pafxfast", table.flag("sasl-gssapi-disable-pafxfast")):
        given["sasl-gssapi-disable-pafxfast"] = "true"
    _check_oauth(given, table, mechanism)
    known = [(name, value) for name, value in given.items() if value]
    secrets = tuple((name, Secret(value)) for name, value in known if is_secret_name(name))
    return tuple(pair for pair in known if not is_secret_name(pair[0])), secrets


def _check_oauth(given: dict[str, str], table: Table, mechanism: str) -> None:
    named = [name for name in _OAUTH if table.has(name)]
    if not named:
        return
    if mechanism != "OAUTHBEARER":
        raise ConfigError(f"{table.key(named[0])} is given; then sasl-mechanism has to be OAUTHBEARER")
    for name in _OAUTH:
        if not given[name]:
            raise ConfigError(f"{table.key(name)} is missing or empty; OAuth needs {', '.join(_OAUTH)}")
    try:
        base64.b64decode(given["sasl-oauth-client-secret"], validate=True)
    except binascii.Error:
        raise ConfigError(f"{table.key('sasl-oauth-client-secret')} is not base64, which it has to be") from None
