"""The stores of the tests behave as the clouds do where the storage sink relies on them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pyarrow.fs
import pytest

from tailrace.testing.services import AzureConnection, Cloud, GcsConnection, connection


def test_uris_carry_what_a_sink_needs() -> None:
    gcs = urlsplit(GcsConnection("http://127.0.0.1:1").uri("bucket", "/some/prefix/"))
    assert (gcs.scheme, gcs.netloc, gcs.path) == ("gs", "bucket", "/some/prefix")
    assert parse_qs(gcs.query) == {"endpoint": ["http://127.0.0.1:1"], "anonymous": ["true"]}
    azure = urlsplit(AzureConnection("http://127.0.0.1:1", "me", "a/b+c=").uri("box", "p", "azblob"))
    assert (azure.scheme, azure.netloc, azure.path) == ("azblob", "box", "/p")
    assert parse_qs(azure.query)["account-key"] == ["a/b+c="]


def test_a_connection_does_not_show_its_secret() -> None:
    assert "hush" not in repr(AzureConnection("http://127.0.0.1:1", "me", "hush"))


@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param("gcs", marks=pytest.mark.service("gcs")),
        pytest.param("azure", marks=pytest.mark.service("azure")),
    ],
)
def test_what_is_written_is_read_listed_and_copied(cloud: Cloud) -> None:
    store = connection(cloud)
    files, bucket = store.filesystem(), store.new_bucket()
    assert bucket != store.new_bucket()
    with files.open_output_stream(f"{bucket}/a/1.csv") as stream:
        stream.write(b"1,2\n")
    files.copy_file(f"{bucket}/a/1.csv", f"{bucket}/b/2.csv")
    listed = files.get_file_info(pyarrow.fs.FileSelector(bucket, recursive=True))
    assert sorted(info.path for info in listed if info.is_file) == [f"{bucket}/a/1.csv", f"{bucket}/b/2.csv"]
    assert files.open_input_stream(f"{bucket}/b/2.csv").read() == b"1,2\n"
