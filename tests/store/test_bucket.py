"""A bucket as a store: what is visible when, what is refused, and that no message shows a secret."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow.fs as pafs
import pytest

from tailrace.errors import ConfigError, SinkAway, SinkRefused, TailraceError, WorkerLost
from tailrace.observe import failpoints
from tailrace.observe.failpoints import VARIABLE
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.sink import StorageSink
from tailrace.store.bucket import Bucket
from tailrace.testing.services import connection
from tests.sink.storage.folders import SUBSCRIPTION, Run, batch, table, ts

CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'


@pytest.fixture(scope="module")
def bucket() -> str:
    return connection("s3").new_bucket()


@pytest.fixture
def base(bucket: str) -> str:
    return f"{bucket}/{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    failpoints.reset()
    yield
    failpoints.reset()


def spec(base: str) -> SinkSpec:
    bucket, _, prefix = base.partition("/")
    return SinkSpec(SUBSCRIPTION, connection("s3").uri(bucket, prefix), CONFIG)


def keys(base: str) -> dict[str, bytes]:
    client = connection("s3").filesystem()
    found = client.get_file_info(pafs.FileSelector(base, recursive=True))
    files = [info.path for info in found if info.type == pafs.FileType.File and "/.tailrace" not in info.path]
    return {path.removeprefix(f"{base}/"): client.open_input_file(path).readall() for path in sorted(files)}


@pytest.mark.service("s3")
def test_a_store_reads_lists_publishes_and_removes(base: str) -> None:
    store = Bucket(connection("s3").filesystem(), base, "the bucket")
    assert (store.read("a/x"), store.entry("a/x"), store.names("a"), store.folders("a")) == (None, None, [], [])
    store.remove("a/x")
    store.remove_folder("a")
    store.replace([("a/x", b"1"), ("a/b/y", b"22")])
    store.replace([("a/x", b"333")])
    assert (store.read("a/x"), store.sizes("a"), store.folders("a")) == (b"333", {"x": 3}, ["b"])
    assert store.publish("a/x", "c/z")
    assert not store.publish("a/gone", "c/y")
    assert store.names("c") == ["z"]
    store.remove("c/z")
    store.remove_folder("a")
    assert (store.entry("c/z"), store.names("a/b")) == (None, [])


@pytest.mark.service("s3")
def test_a_staged_object_is_not_there_before_it_is_closed(base: str) -> None:
    store = Bucket(connection("s3").filesystem(), base, "the bucket")
    output = store.create("part")
    output.write(memoryview(b"x" * (12 << 20)))
    assert store.entry("part") is None
    output.close()
    entry = store.entry("part")
    assert entry is not None and entry.size == 12 << 20


@pytest.mark.service("s3")
@pytest.mark.parametrize("point", ["after-naming", "between-files", "before-index", "before-metadata"])
def test_a_crash_in_a_commit_is_finished_by_the_next_owner(
    base: str, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    run = Run(spec(base))
    tables = [table(f"t{n}", table_id=n) for n in range(3)]
    run.deliver(*([batch(each, [ts(1)])] for each in tables))
    monkeypatch.setenv(VARIABLE, f"{point}=raise")
    with pytest.raises(WorkerLost):
        run.deliver(*([batch(each, [ts(2)])] for each in tables))
    run.start()
    assert run.ledger.last_cut == 2
    run.deliver(*([batch(each, [ts(3)])] for each in tables))
    data = [name for name in keys(base) if name.endswith(".csv")]
    assert [name[-5] for name in data] == ["1", "2", "3"] * 3
    assert keys(base)["metadata"] == f'{{"checkpoint-ts":{ts(3)}}}'.encode()


@pytest.mark.service("s3")
def test_what_a_bucket_refuses_is_said_with_its_place_and_without_secrets(base: str) -> None:
    s3, uri = connection("s3"), spec(base).uri
    wrong_secret = uri.replace("secret-access-key=", "secret-access-key=hush")
    for changed, said, kind in (
        (s3.uri("no-such-bucket-here", "p"), "bucket does not exist", SinkRefused),
        (wrong_secret, "secret key", SinkRefused),
        (uri.replace("access-key=tailrace", "access-key=unknown"), "access key is not known", SinkRefused),
        (uri.replace(s3.endpoint.rpartition(":")[2], "1"), "does not answer", SinkAway),
    ):
        sink = StorageSink(SinkSpec(SUBSCRIPTION, changed, CONFIG))
        (problem,) = sink.verify()
        assert (problem.key, said in problem.message) == ("sink-uri", True), problem.message
        assert "bucket s3://" in problem.message and "127.0.0.1" in problem.message
        assert s3.secret_key not in problem.message and "hush" not in problem.message
        with pytest.raises(TailraceError) as failed:
            Run(SinkSpec(SUBSCRIPTION, changed, CONFIG))
        assert type(failed.value) is kind


@pytest.mark.parametrize("parameter", ["sse=AES256", "acl=private", "profile=me"])
def test_a_parameter_that_cannot_be_handed_on_is_refused(parameter: str) -> None:
    with pytest.raises(ConfigError, match=parameter.partition("=")[0]):
        StorageSink(SinkSpec(SUBSCRIPTION, f"s3://b/p?region=r&{parameter}", CONFIG))
