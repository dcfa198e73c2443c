"""The storage sink keeps every guarantee of a sink, in a folder and in a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pyarrow.fs
import pytest

from tailrace.codec.canal_json import CanalJsonOptions
from tailrace.sink.base import Sink, SinkSpec
from tailrace.sink.storage.sink import StorageSink
from tailrace.testing.conformance.driver import SUBSCRIPTION, Target
from tailrace.testing.conformance.sink import SinkConformance
from tailrace.testing.reader import Contents, FolderForm, read
from tailrace.testing.services import Cloud, connection

CONFIG = """
[sink]
protocol = "csv"
[sink.csv]
include-commit-ts = true
"""


@dataclass(frozen=True)
class StorageTarget:
    """What lies below `base`, read by the independent reader."""

    uri: str
    store: pyarrow.fs.FileSystem
    base: str
    form: FolderForm | None = None

    def sink(self) -> Sink:
        return StorageSink(SinkSpec(SUBSCRIPTION, self.uri, CONFIG))

    def visible(self) -> Mapping[str, Mapping[int, str | None]]:
        contents = self.read()
        if contents is None:
            return {}
        assert contents.fallbacks == ()
        assert contents.gaps == ()
        return {
            name: dict(zip(rows.column("id").to_pylist(), rows.column("note").to_pylist(), strict=True))
            for name, rows in contents.tables.items()
        }

    def rows_seen(self) -> int | None:
        contents = self.read()
        return contents.changes if contents else 0

    def read(self) -> Contents | None:
        """None before there is `metadata`: until then nothing is promised."""
        if self.store.get_file_info(f"{self.base}/metadata").type is pyarrow.fs.FileType.NotFound:
            return None
        return read(self.store, self.base, self.form)


class TestFolder(SinkConformance):
    @pytest.fixture
    def target(self, tmp_path: Path) -> Target:
        return StorageTarget(f"file://{tmp_path}/out", pyarrow.fs.LocalFileSystem(), f"{tmp_path}/out")


class TestFolderOfCanalJson(SinkConformance):
    @pytest.fixture
    def target(self, tmp_path: Path) -> Target:
        uri = f"file://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true"
        form = FolderForm(canal_json=CanalJsonOptions(enable_tidb_extension=True))
        return StorageTarget(uri, pyarrow.fs.LocalFileSystem(), f"{tmp_path}/out", form)


CLOUDS = [pytest.param(name, marks=pytest.mark.service(name)) for name in get_args(Cloud)]


class TestBucket(SinkConformance):
    @pytest.fixture(params=CLOUDS)
    def target(self, request: pytest.FixtureRequest) -> Target:
        cloud: Cloud = request.param
        store = connection(cloud)
        bucket = store.new_bucket("conformance")
        return StorageTarget(store.uri(bucket, "out"), store.filesystem(), f"{bucket}/out")
