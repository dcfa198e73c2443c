"""A bucket as a store: what is visible when, what is refused, and that no message shows a secret."""

from __future__ import annotations

import functools
import threading
import uuid
from collections.abc import Iterator
from typing import get_args

import pyarrow.fs as pafs
import pytest

from tailrace.config import load_changefeed
from tailrace.errors import ConfigError, SinkAway, SinkRefused, TailraceError, WorkerLost
from tailrace.observe import failpoints
from tailrace.observe.failpoints import VARIABLE
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.sink import StorageSink
from tailrace.store.bucket import Bucket
from tailrace.store.clients import open_bucket
from tailrace.store.filesystem import OWN
from tailrace.testing.services import Cloud, connection
from tests.sink.storage.folders import SUBSCRIPTION, Run, batch, table, ts

CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'


CLOUDS = [pytest.param(name, marks=pytest.mark.service(name)) for name in get_args(Cloud)]


@functools.cache
def bucket(cloud: Cloud) -> str:
    return connection(cloud).new_bucket()


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> Cloud:
    name: Cloud = request.param
    return name


@pytest.fixture
def base(cloud: Cloud) -> str:
    return f"{bucket(cloud)}/{uuid.uuid4().hex}"


@pytest.fixture
def store(cloud: Cloud, base: str) -> Bucket:
    target = load_changefeed(spec(cloud, base).uri, CONFIG).sink.storage
    assert target is not None
    return open_bucket(target.store)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    failpoints.reset()
    yield
    failpoints.reset()


def spec(cloud: Cloud, base: str) -> SinkSpec:
    name, _, prefix = base.partition("/")
    return SinkSpec(SUBSCRIPTION, connection(cloud).uri(name, prefix), CONFIG)


def keys(cloud: Cloud, base: str) -> dict[str, bytes]:
    client = connection(cloud).filesystem()
    found = client.get_file_info(pafs.FileSelector(base, recursive=True))
    files = [info.path for info in found if info.type == pafs.FileType.File and "/.tailrace" not in info.path]
    return {path.removeprefix(f"{base}/"): client.open_input_file(path).readall() for path in sorted(files)}


def test_a_store_reads_lists_publishes_and_removes(store: Bucket) -> None:
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


def test_a_staged_object_is_not_there_before_it_is_closed(store: Bucket) -> None:
    output = store.create("part")
    output.write(memoryview(b"x" * (12 << 20)))
    early = store.entry("part")
    assert early is None or early.size == 0
    output.close()
    entry = store.entry("part")
    assert entry is not None and entry.size == 12 << 20


@pytest.mark.parametrize("point", ["after-naming", "between-files", "before-index", "before-metadata"])
def test_a_crash_in_a_commit_is_finished_by_the_next_owner(
    cloud: Cloud, base: str, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    run = Run(spec(cloud, base))
    tables = [table(f"t{n}", table_id=n) for n in range(3)]
    run.deliver(*([batch(each, [ts(1)])] for each in tables))
    monkeypatch.setenv(VARIABLE, f"{point}=raise")
    with pytest.raises(WorkerLost):
        run.deliver(*([batch(each, [ts(2)])] for each in tables))
    run.start()
    assert run.ledger.last_cut == 2
    run.deliver(*([batch(each, [ts(3)])] for each in tables))
    data = [name for name in keys(cloud, base) if name.endswith(".csv")]
    assert [name[-5] for name in data] == ["1", "2", "3"] * 3
    assert keys(cloud, base)["metadata"] == f'{{"checkpoint-ts":{ts(3)}}}'.encode()


@pytest.mark.service("s3")
def test_what_a_bucket_refuses_is_said_with_its_place_and_without_secrets() -> None:
    s3, uri = connection("s3"), spec("s3", f"{bucket('s3')}/out").uri
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


def test_a_bucket_that_is_not_there_is_refused_on_every_store(cloud: Cloud) -> None:
    target = spec(cloud, f"no-such-bucket-{uuid.uuid4().hex[:8]}/out")
    (problem,) = StorageSink(target).verify()
    assert "does not exist" in problem.message
    with pytest.raises(SinkRefused, match="does not exist"):
        Run(target)


def test_folders_are_seen_by_what_is_below_them(store: Bucket) -> None:
    store.replace([(f"a/{folder}/deep/{name}", b"1") for folder in ("x", "y") for name in "12"])
    assert store.folders("a") == ["x", "y"]
    assert store.names("a/x/deep") == ["1", "2"]
    store.remove_folder("a/x")
    assert store.folders("a") == ["y"]


def test_a_round_of_a_listing_gives_what_is_new_and_nothing_of_ours(store: Bucket) -> None:
    listing = store.listing()
    store.replace([("metadata", b"{}"), ("shop/t/1/CDC1.csv", b"1"), (f"{OWN}/stage/x.part", b"1")])
    assert sorted(listing.round()) == [("metadata", 2), ("shop/t/1/CDC1.csv", 1)]
    store.replace([("shop/t/1/CDC2.csv", b"22"), ("app/u/1/CDC1.csv", b"333")])
    assert sorted(listing.round()) == [("app/u/1/CDC1.csv", 3), ("shop/t/1/CDC2.csv", 2)]
    assert listing.round() == []
    assert (store.part("shop/t/1/CDC2.csv", 1, 5), store.part("nowhere", 0, 5)) == (b"2", b"")


def test_a_reader_sees_the_old_content_or_the_new_and_nothing_between(store: Bucket) -> None:
    store.replace([("metadata", b"00")])
    seen: list[bytes | None] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(store.read("metadata"))

    reader = threading.Thread(target=read)
    reader.start()
    for at in range(1, 20):
        store.replace([("metadata", f"{at:02}".encode())])
    done.set()
    reader.join()
    numbers = [int(text) for text in seen if text]
    assert len(numbers) == len(seen) > 0
    assert numbers == sorted(numbers)


def test_many_files_are_put_at_once_and_none_is_missing(store: Bucket) -> None:
    store.replace((f"many/{at:04}", str(at).encode()) for at in range(300))
    assert store.names("many") == [f"{at:04}" for at in range(300)]
    assert store.each(store.read, [f"many/{at:04}" for at in range(300)]) == [str(at).encode() for at in range(300)]


@pytest.mark.parametrize("parameter", ["sse=AES256", "acl=private", "profile=me"])
def test_a_parameter_that_cannot_be_handed_on_is_refused(parameter: str) -> None:
    with pytest.raises(ConfigError, match=parameter.partition("=")[0]):
        StorageSink(SinkSpec(SUBSCRIPTION, f"s3://b/p?region=r&{parameter}", CONFIG))
