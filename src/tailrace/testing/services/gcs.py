"""A Google Cloud Storage for tests: fake-gcs-server, in memory, and how to reach it.

It answers as the JSON API does where `pyarrow.fs` asks, conditional writes by generation included. It knows no
credentials: who reaches its port may do everything.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pyarrow.fs

from tailrace.testing.services.component import Command, Component, Place, answers
from tailrace.testing.services.golang import GoProgram

PROGRAM = GoProgram(
    module="github.com/fsouza/fake-gcs-server",
    version="v1.56.1",
    hash="h1:K03sAvbLvDz4hAynpCCUqnNRp+ik9JFSvHbkD/wTPOU=",
    package=".",
)


@dataclass(frozen=True, slots=True)
class GcsConnection:
    """All that a client needs."""

    endpoint: str

    def uri(self, bucket: str, prefix: str = "", scheme: str = "gs") -> str:
        """A sink URI as TiCDC writes them; `anonymous` is ours."""
        parameters = {"endpoint": self.endpoint, "anonymous": "true"}
        return f"{scheme}://{bucket}/{prefix.strip('/')}?{urlencode(parameters)}"

    def filesystem(self) -> pyarrow.fs.GcsFileSystem:
        """A client of the tests' own, independent of what the sink uses."""
        address = self.endpoint.removeprefix("http://")
        return pyarrow.fs.GcsFileSystem(
            anonymous=True, scheme="http", endpoint_override=address, project_id="tests", default_bucket_location="us"
        )

    def new_bucket(self, purpose: str = "test") -> str:
        """Make a bucket that nobody else uses; its name."""
        bucket = f"{purpose}-{uuid.uuid4().hex[:12]}"
        self.filesystem().create_dir(bucket)
        return bucket


def connection(place: Place) -> GcsConnection:
    return GcsConnection(f"http://{place.address}")


def _command(program: Path, place: Place) -> Command:
    url = f"http://{place.address}"
    argv = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(place.port), "-backend", "memory")
    return Command((str(program), *argv, "-public-host", place.address, "-external-url", url, "-log-level", "warn"))


COMPONENT = Component(
    name="gcs",
    what=f"Google Cloud Storage (fake-gcs-server {PROGRAM.version})",
    install=PROGRAM.install,
    command=_command,
    ready=lambda place: answers(f"http://{place.address}/_internal/healthcheck"),
)
