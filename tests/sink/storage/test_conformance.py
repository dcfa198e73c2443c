"""The storage sink under the suite that every sink is held to: on a folder, and on a bucket."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tailrace.sink.base import Sink, SinkSpec
from tailrace.sink.storage.sink import StorageSink
from tailrace.testing.conformance.driver import SUBSCRIPTION, Target
from tailrace.testing.conformance.sink import SinkConformance
from tailrace.testing.reader import read
from tailrace.testing.services import connection

CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'


@dataclass(frozen=True, slots=True)
class Folder:
    """A prefix, written by its URI and read by a client of the test's own."""

    uri: str
    client: pafs.FileSystem
    base: str

    def sink(self) -> Sink:
        return StorageSink(SinkSpec(SUBSCRIPTION, self.uri, CONFIG))

    def visible(self) -> Mapping[str, Mapping[int, str | None]]:
        if self.client.get_file_info(f"{self.base}/metadata").type == pafs.FileType.NotFound:
            return {}
        contents = read(self.client, self.base)
        assert (contents.fallbacks, contents.gaps) == ((), ())
        return {
            name: dict(zip(rows.column("id").to_pylist(), rows.column("note").to_pylist(), strict=True))
            for name, rows in contents.tables.items()
        }

    def rows_seen(self) -> int | None:
        """Every row names its schema once, after its table."""
        below = self.client.get_file_info(pafs.FileSelector(self.base, recursive=True, allow_not_found=True))
        files = [info.path for info in below if info.path.endswith(".csv")]
        return sum(bytes(self.client.open_input_file(path).readall()).count(b',"conformance",') for path in files)


class TestFolder(SinkConformance):
    @pytest.fixture
    def target(self, tmp_path: Path) -> Target:
        return Folder(f"file://{tmp_path}/prefix", pafs.LocalFileSystem(), f"{tmp_path}/prefix")


@pytest.fixture(scope="module")
def bucket() -> str:
    return connection("s3").new_bucket()


@pytest.mark.service("s3")
class TestBucket(SinkConformance):
    @pytest.fixture
    def target(self, bucket: str) -> Target:
        prefix, s3 = f"of/{uuid.uuid4().hex}", connection("s3")
        return Folder(s3.uri(bucket, prefix), s3.filesystem(), f"{bucket}/{prefix}")
