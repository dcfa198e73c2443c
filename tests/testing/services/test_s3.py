"""The object store of the tests behaves as S3 where the storage sink relies on it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow.fs
import pytest

from tailrace.errors import NotFound
from tailrace.testing.services import S3Connection, connection, is_up


def test_a_uri_carries_what_a_sink_needs() -> None:
    uri = urlsplit(S3Connection("http://127.0.0.1:1", "key", "a/b+c", "r1").uri("bucket", "/some/prefix/"))
    assert (uri.scheme, uri.netloc, uri.path) == ("s3", "bucket", "/some/prefix")
    assert parse_qs(uri.query) == {
        "endpoint": ["http://127.0.0.1:1"],
        "access-key": ["key"],
        "secret-access-key": ["a/b+c"],
        "region": ["r1"],
        "force-path-style": ["true"],
    }


def test_a_connection_does_not_show_its_secret() -> None:
    assert "hush" not in repr(S3Connection("http://127.0.0.1:1", "key", "hush"))


def test_where_it_does_not_run_the_answer_says_how_to_start_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not is_up("s3")
    with pytest.raises(NotFound, match="scripts/services up s3"):
        connection("s3")


@pytest.mark.service("s3")
def test_what_is_written_is_read_listed_and_moved() -> None:
    store = connection("s3")
    files, bucket = store.filesystem(), store.new_bucket()
    assert bucket != store.new_bucket()
    with files.open_output_stream(f"{bucket}/a/1.csv") as stream:
        stream.write(b"1,2\n")
    files.move(f"{bucket}/a/1.csv", f"{bucket}/b/2.csv")
    listed = files.get_file_info(pyarrow.fs.FileSelector(bucket, recursive=True))
    assert [info.path for info in listed if info.is_file] == [f"{bucket}/b/2.csv"]
    assert files.open_input_stream(f"{bucket}/b/2.csv").read() == b"1,2\n"
