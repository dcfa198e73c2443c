"""Kafka's part of a changefeed: defaults, the URI over the file, combinations that cannot be, no secret in sight."""

from __future__ import annotations

import pytest

from tailrace.config import KafkaConfig, MessageConfig, load_changefeed
from tailrace.errors import ConfigError

URI = "kafka://127.0.0.1:9092,127.0.0.1:9093/topic?protocol="
LARGE = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = "
GLUE = "[sink.kafka-config.glue-schema-registry-config]\n"
OAUTH = "[sink.kafka-config]\nsasl-oauth-client-id = 'i'\nsasl-oauth-token-url = 'http://127.0.0.1/t'\n"


def kafka(uri: str, toml: str = "") -> tuple[KafkaConfig, MessageConfig]:
    sink = load_changefeed(uri, toml).sink
    assert sink.kafka is not None
    return sink.kafka, sink.messages


def test_defaults_are_ticdcs() -> None:
    found, messages = kafka(URI + "open-protocol")
    assert (found.brokers, found.topic) == (("127.0.0.1:9092", "127.0.0.1:9093"), "topic")
    assert (found.partition_num, found.replication_factor, found.required_acks) == (0, 1, -1)
    assert found.auto_create_topic and found.compression == "none" and found.dial_timeout == 10.0
    assert (messages.max_message_bytes, messages.max_batch_size) == (10485760, 16)
    assert not found.tls.enabled and not found.sasl_options and not found.sasl_secrets


def test_the_uri_wins_over_the_file() -> None:
    toml = """
        [sink.kafka-config]
        partition-num = 3
        max-message-bytes = 1000
        compression = "lz4"
        read-timeout = "1m"
        [sink.kafka-config.codec-config]
        enable-tidb-extension = true
        max-batch-size = 5
    """
    found, messages = kafka(URI + "canal-json&partition-num=4&enable-tidb-extension=false&max-batch-size=7", toml)
    assert (found.partition_num, found.compression, found.read_timeout) == (4, "lz4", 60.0)
    assert (messages.max_message_bytes, messages.max_batch_size) == (1000, 7)
    assert not messages.enable_tidb_extension


def test_content_compatible_is_for_canal_json_and_implies_updated_columns() -> None:
    assert kafka(URI + "canal-json&content-compatible=true")[1].only_output_updated_columns
    assert not kafka(URI + "simple&content-compatible=true")[1].content_compatible


def test_secrets_are_secrets_and_the_rest_can_be_read() -> None:
    uri = URI + "simple&sasl-user=u&sasl-password=geheim&sasl-mechanism=scram-sha-256"
    found, _ = kafka(uri)
    assert dict(found.sasl_options) == {"sasl-user": "u", "sasl-mechanism": "SCRAM-SHA-256"}
    assert {name: secret.reveal() for name, secret in found.sasl_secrets} == {"sasl-password": "geheim"}
    assert "geheim" not in repr(load_changefeed(uri, ""))


def test_places_that_may_hold_credentials_are_not_shown() -> None:
    toml = LARGE + "'claim-check'\nclaim-check-storage-uri = 's3://b/p?secret-access-key=geheim'"
    uri = URI + "simple&schema-registry=http://u:geheim@127.0.0.1"
    config = load_changefeed(uri, toml)
    assert config.sink.messages.claim_check_storage_uri.reveal().endswith("geheim")
    assert "geheim" not in repr(config)


def test_certificates_turn_tls_on() -> None:
    assert kafka(URI + "simple&ca=a&cert=b&key=c")[0].tls.enabled
    assert kafka(URI + "simple&enable-tls=true&insecure-skip-verify=true")[0].tls.insecure_skip_verify
    assert not kafka(URI + "simple&insecure-skip-verify=true")[0].tls.insecure_skip_verify


@pytest.mark.parametrize(
    ("uri", "toml", "said"),
    [
        ("kafka:///topic?protocol=simple", "", "names brokers and a topic"),
        (URI + "simple&partition-num=-1", "", "partition-num is -1"),
        (URI + "simple", "[sink.kafka-config]\npartition-num = 0", "partition-num is 0"),
        (URI + "simple&required-acks=2", "", "0 or 1 or -1"),
        (URI + "simple&partitions=2", "", "unknown"),
        (URI + "simple&kafka-client-id=a:b", "", "kafka-client-id"),
        (URI + "simple&dial-timeout=10", "", "dial-timeout"),
        (URI + "simple&ca=a&cert=b", "", "key is missing"),
        (URI + "simple&ca=a&cert=b&key=c&enable-tls=false", "", "enable-tls is false"),
        (URI + "simple&sasl-mechanism=scram-sha-25", "", "did you mean SCRAM-SHA-256?"),
        (URI + "simple&sasl-gssapi-auth-type=token", "", "sasl-gssapi-auth-type"),
        (URI + "simple&encoding-format=xml", "", "encoding-format"),
        (URI + "simple", OAUTH + "sasl-oauth-client-secret = 'eA=='", "OAUTHBEARER"),
        (URI + "simple&sasl-mechanism=OAUTHBEARER", OAUTH, "sasl-oauth-client-secret is missing"),
        (URI + "simple&sasl-mechanism=OAUTHBEARER", OAUTH + "sasl-oauth-client-secret = '?'", "not base64"),
        (URI + "canal-json", LARGE + "'claim'", "did you mean claim-check?"),
        (URI + "avro&schema-registry=r", LARGE + "'claim-check'", "for the protocol avro it may be none"),
        (URI + "simple", LARGE + "'claim-check'", "claim-check-storage-uri is missing"),
        (URI + "simple", "force-replicate = true\n" + LARGE + "'handle-key-only'", "exclude each other"),
        (URI + "avro&schema-registry=r", GLUE + "registry-name = 'n'\nregion = 'r'", "exclude each other"),
        (URI + "avro", GLUE + "region = 'r'", "registry-name is missing"),
        (URI + "avro", GLUE + "registry-name = 'n'\nregion = 'r'\naccess-key = 'k'", "secret-access-key"),
    ],
)
def test_what_can_not_be_is_named(uri: str, toml: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_changefeed(uri, toml)
    assert said in refused.value.message
