"""A bucket reads as a folder does, and its keys are in no message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.errors import NotFound, TailraceError
from tailrace.testing.services import S3Connection, connection
from tests.pipeline.view.folders import Change, Folder, orders
from tests.pipeline.view.reading import batch_rows, ids, stream

pytestmark = pytest.mark.service("s3")


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Three files of a table below a prefix."""
    s3 = connection("s3")
    folder, bucket = Folder(tmp_path), s3.new_bucket("view")
    table = folder.version(orders())
    for number in range(1, 4):
        rows: list[Change] = [("I", 100 * number + at, (100 * number + at, "x" * 50)) for at in range(1, 51)]
        folder.rows(table, number, rows, "2026-11-18")
    folder.checkpoint(1000)
    client = s3.filesystem()
    for path in folder.path.rglob("*"):
        if path.is_file():
            with client.open_output_stream(f"{bucket}/cdc/one/{path.relative_to(folder.path)}") as out:
                out.write(path.read_bytes())
    return s3.uri(bucket, "cdc/one")


def test_a_bucket_reads_as_a_folder_does(uri: str) -> None:
    assert len(batch_rows(uri)) == 150
    assert ids(batch_rows(uri, startTs="240", endTs="303")) == [*range(241, 251), 301, 302, 303]
    reader = stream(uri, maxFilesPerTrigger="1")
    assert reader.latestOffset({"cut": 0}, reader.getDefaultReadLimit()) == {"cut": 150}


def test_what_is_not_there_is_named_without_secrets(uri: str) -> None:
    s3: S3Connection = connection("s3")
    for wrong in (uri.replace("/cdc/one", "/cdc"), uri.replace("/cdc/one", "/nothing")):
        with pytest.raises(NotFound, match="not the root of a changefeed") as raised:
            batch_rows(wrong)
        assert s3.secret_key not in str(raised.value)
    with pytest.raises(TailraceError) as raised_other:
        batch_rows(uri.replace("s3://view-", "s3://none-"))
    assert s3.secret_key not in str(raised_other.value)
