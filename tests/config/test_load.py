"""A changefeed's configuration: TiCDC's files work, what is wrong is named, and no message shows a secret."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.config import load_changefeed
from tailrace.config.keys import ROOT, UNUSED, Kind, Tree
from tailrace.errors import ConfigError

CSV = "file:///data/x?protocol=csv"


def refusal(uri: str, toml: str = "") -> str:
    with pytest.raises(ConfigError) as refused:
        load_changefeed(uri, toml)
    return refused.value.message


def test_without_a_file_everything_has_ticdcs_defaults() -> None:
    config = load_changefeed(CSV, "")
    storage = config.sink.storage
    assert storage is not None and (storage.store.prefix, storage.store.bucket) == ("/data/x", "")
    assert (storage.worker_count, storage.flush_interval, storage.file_size) == (16, 5.0, 67108864)
    assert (config.sink.date_separator, config.sink.file_index_width, config.sink.terminator) == ("day", 20, "\r\n")
    assert config.filter.rules == ("*.*",) and not config.case_sensitive and not config.warnings
    assert config.sink.csv.null == "\\N" and config.sink.schema_dialect == "classic"


def test_the_uri_wins_over_the_file() -> None:
    toml = """
        [sink]
        protocol = "csv"
        [sink.cloud-storage-config]
        worker-count = 3
        file-size = 2000000
        flush-interval = "7s"
    """
    config = load_changefeed("file:///d?protocol=canal-json&worker-count=4&flush-interval=1m2s", toml)
    storage = config.sink.storage
    assert storage is not None and config.sink.protocol == "canal-json"
    assert (storage.worker_count, storage.file_size, storage.flush_interval) == (4, 2000000, 62.0)


def test_a_whole_ticdc_file_is_read() -> None:
    toml = """
        memory-quota = 1073741824
        case-sensitive = true
        force-replicate = true
        sync-point-interval = "5m"
        [filter]
        rules = ["shop.*", "!shop.log"]
        [mounter]
        worker-num = 8
        [sink]
        protocol = "csv"
        terminator = ""
        date-separator = "month"
        enable-partition-separator = false
        file-index-digit = 6
        transaction-atomicity = "table"
        schema-dialect = "new"
        dispatchers = [{matcher = ["*.*"], partition = "ts"}]
        [sink.csv]
        delimiter = "|"
        output-old-value = true
        [sink.cloud-storage-config]
        output-raw-change-event = true
        file-expiration-days = 3
        [consistent]
        level = "none"
    """
    config = load_changefeed("nfs:///d/e/", toml)
    sink, storage = config.sink, config.sink.storage
    assert storage is not None and storage.output_raw_change_event and storage.file_expiration_days == 3
    assert storage.store.prefix == "/d/e"
    assert (sink.terminator, sink.date_separator, sink.file_index_width) == ("", "month", 6)
    assert sink.whole_transactions and not sink.enable_partition_separator and sink.schema_dialect == "new"
    assert (sink.csv.delimiter, sink.csv.output_old_value) == ("|", True)
    assert config.filter.rules == ("shop.*", "!shop.log")
    assert config.case_sensitive and config.force_replicate
    assert {warning.split()[0] for warning in config.warnings} >= {"memory-quota", "mounter", "sink.dispatchers"}


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[sink]\nprotocal = 'csv'", ("sink.protocal", "did you mean protocol?")),
        ("[sink.csv]\ndelimter = ','", ("sink.csv.delimter", "did you mean delimiter?")),
        ("[[filter.event-filters]]\nmatchers = []", ("filter.event-filters[0].matchers", "did you mean matcher?")),
        ("[sink]\ndispatchers = [{}, {topik = ''}]", ("sink.dispatchers[1].topik", "did you mean topic?")),
        ("case-sensitive = 1", ("case-sensitive", "true or false")),
        ("memory-quota = -1", ("memory-quota", "0 or more")),
        ("[filter]\nrules = 'a.*'", ("filter.rules", "an array of texts")),
        ("sink = 1", ("sink", "is a table")),
        ("[sink.dispatchers]\nmatcher = []", ("sink.dispatchers", "array of tables")),
        ("[sink]\nschema-dialect = 'clasic'", ("sink.schema-dialect", "did you mean classic?")),
        ("[sink]\ndate-separator = 'dya'", ("sink.date-separator", "did you mean day?")),
        ("[sink.cloud-storage-config]\nflush-interval = 'soon'", ("sink.cloud-storage-config.flush-interval", "5s")),
        ("enable-sync-point = true\nsync-point-interval = '10s'", ("sync-point-interval", "30 seconds or more")),
        ("sync-point-interval = 'x'", ("sync-point-interval", "not a duration")),
        ("changefeed-error-stuck-duration = '1m'", ("changefeed-error-stuck-duration", "1800")),
        ("[filter]\nignore-txn-start-ts = [-1]", ("filter.ignore-txn-start-ts", "0 or more")),
        ("[sink\n", ("not TOML", "line 1")),
    ],
)
def test_a_wrong_file_names_the_key_and_what_it_may_be(toml: str, said: tuple[str, str]) -> None:
    message = refusal(CSV, toml)
    assert all(part in message for part in said), message


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("/data/x", "begins with its scheme"),
        ("file://data/x?protocol=csv", "three slashes"),
        ("file:///?protocol=csv", "an absolute folder"),
        ("s3:///prefix?protocol=csv", "names its bucket"),
        ("s3://key:pass@bucket/p?protocol=csv", "names its bucket"),
        ("file:///d?protocol=cvs", "did you mean csv?"),
        ("file:///d?protocol=csv&flush-intervall=5s", "did you mean flush-interval?"),
        ("file:///d?protocol=csv&access-key=a", "unknown"),
        ("file:///d?protocol=csv&file-size=1k", "file-size is a whole number"),
        ("file:///d?protocol=csv&enable-tidb-extension=yes", "enable-tidb-extension is true or false"),
        ("file:///d?protocol=csv&transaction-atomicity=tabel", "none or table"),
        ("s3://b/p?protocol=csv&access-key=a", "secret-access-key"),
        ("s3://b/p?protocol=csv&session-token=a", "without access-key"),
        ("s3://b/p?protocol=csv&force-path-style=ja", "force-path-style is true or false"),
        ("s3://b/p?protocol=csv&sse=aws:kms", "can not be honoured"),
        ("azure://c/p?protocol=csv&account-key=k", "account-name"),
        ("mysql://root@h/?protocol=csv", "has none"),
        ("kafka://h/t?protocol=csv", "the protocol of a kafka:// sink"),
        ("file:///d?protocol", "can not be read"),
        ("file:///d?protocol=csv&worker_count=3", "did you mean worker-count?"),
        ("s3://b/p?protocol=csv&access-key=a&secret-access-key=b#c", "write %23"),
        ("s3://[b/p?protocol=csv", "can not be read"),
    ],
)
def test_a_wrong_uri_names_the_parameter_and_what_it_may_be(uri: str, said: str) -> None:
    assert said in refusal(uri)


def test_object_stores_get_their_parameters_by_name_and_their_secrets_as_secrets() -> None:
    uri = "s3://b/p/q/?protocol=csv&endpoint=http://127.0.0.1:9000&access_key=A1&secret-access-key=S%2B1&force-path-style=true"
    config = load_changefeed(uri, "")
    storage = config.sink.storage
    assert storage is not None
    store = storage.store
    assert (store.scheme, store.bucket, store.prefix) == ("s3", "b", "p/q")
    assert store.option("endpoint") == "http://127.0.0.1:9000" and store.flag("force-path-style")
    assert store.secret("access-key").reveal() == "A1" and store.secret("secret-access-key").reveal() == "S+1"
    assert not store.secret("session-token") and store.option("region", "r") == "r"
    assert "A1" not in repr(config) and "S+1" not in repr(config) and "S%2B1" not in repr(config)


@given(st.text(string.ascii_letters + string.digits, min_size=6, max_size=20), st.sampled_from(["", "&x=1", "&region"]))
def test_no_refusal_shows_a_secret(drawn: str, more: str) -> None:
    secret = f"9{drawn}9"
    uri = f"s3://b/p?protocol=csv&secret-access-key={secret}{more}"
    toml = f"[sink.kafka-config]\nsasl-password = ['{secret}']"
    unread = f"s3://b/p?protocol=csv&secret-access-key=x&{secret}"
    for message in (refusal(uri), refusal(CSV, toml), refusal(f"s3://u:{secret}@b/p?protocol=csv"), refusal(unread)):
        assert secret not in message


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Kind]]:
    for name, below in tree.items():
        if isinstance(below, Kind):
            yield (*path, name), below
        elif isinstance(below, dict):
            yield from _leaves(below, (*path, name))


@pytest.mark.parametrize(("path", "kind"), list(_leaves(ROOT)), ids=lambda part: str(part))
def test_every_key_refuses_a_value_of_another_kind(path: tuple[str, ...], kind: Kind) -> None:
    wrong = "1" if kind is Kind.TEXT else "{}"
    message = refusal(CSV, f"{'.'.join(path)} = {wrong}")
    assert ".".join(path) in message and kind.value in message


def test_keys_without_effect_are_keys() -> None:
    known = {".".join(path) for path, _ in _leaves(ROOT)} | ROOT.keys()
    assert set(UNUSED) <= known


@pytest.mark.parametrize(
    ("uri", "toml", "warned"),
    [
        ("file:///d?protocol=csv&worker-count=10000", "", "worker-count"),
        ("file:///d?protocol=csv&flush-interval=-10s", "", "flush-interval"),
        ("file:///d?protocol=csv&file-size=2000000000", "", "file-size"),
        (CSV, "[sink.cloud-storage-config]\nflush-concurrency = 0", "flush-concurrency"),
        (CSV, "[sink]\nfile-index-digit = 30", "file-index-digit"),
        (CSV, "[sink]\ndate-separator = 'DAY'", "date-separator"),
        (CSV, "[integrity]\nintegrity-check-level = 'correctness'", "integrity-check-level"),
        (CSV, "[sink.mysql-config]\nworker-count = 1", "mysql-config"),
    ],
)
def test_what_is_moved_to_a_limit_or_without_effect_is_a_warning(uri: str, toml: str, warned: str) -> None:
    warnings = load_changefeed(uri, toml).warnings
    assert len(warnings) == 1 and warned in warnings[0]


def test_a_sink_that_is_not_for_files_has_no_storage_and_may_have_any_protocol() -> None:
    config = load_changefeed("blackhole://?protocol=whatever", "[sink.csv]\ndelimiter = ''")
    assert config.sink.storage is None and config.sink.csv.delimiter == ""
