"""An S3 store for tests: Versity's gateway over a folder, and how to reach it.

It honours conditional puts, as S3 does. Unlike S3 it cannot hold both a key `a` and a key `a/b`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pyarrow.fs

from tailrace.testing.services.component import Command, Component, Place, answers
from tailrace.testing.services.golang import GoProgram

ACCESS_KEY = "tailrace"
REGION = "us-east-1"

PROGRAM = GoProgram(
    module="github.com/versity/versitygw",
    version="v1.8.0",
    hash="h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc=",
    package="./cmd/versitygw",
)


@dataclass(frozen=True, slots=True)
class S3Connection:
    """All that a client needs."""

    endpoint: str
    access_key: str
    secret_key: str = field(repr=False)
    region: str = REGION

    def uri(self, bucket: str, prefix: str = "") -> str:
        """A sink URI as TiCDC writes them."""
        parameters = {
            "endpoint": self.endpoint,
            "access-key": self.access_key,
            "secret-access-key": self.secret_key,
            "region": self.region,
            "force-path-style": "true",
        }
        return f"s3://{bucket}/{prefix.strip('/')}?{urlencode(parameters)}"

    def filesystem(self) -> pyarrow.fs.S3FileSystem:
        """A client of the tests' own, independent of what the sink uses."""
        return pyarrow.fs.S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret_key,
            region=self.region,
            endpoint_override=self.endpoint,
            allow_bucket_creation=True,
        )

    def new_bucket(self, purpose: str = "test") -> str:
        """Make a bucket that nobody else uses; its name."""
        bucket = f"{purpose}-{uuid.uuid4().hex[:12]}"
        self.filesystem().create_dir(bucket)
        return bucket


def connection(place: Place) -> S3Connection:
    return S3Connection(f"http://{place.address}", ACCESS_KEY, place.secret)


def _command(program: Path, place: Place) -> Command:
    data = place.folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    argv = (str(program), "--quiet", "--region", REGION, "--port", place.address, "posix", str(data))
    return Command(argv, {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": place.secret})


COMPONENT = Component(
    name="s3",
    what=f"S3 object store (versitygw {PROGRAM.version})",
    install=PROGRAM.install,
    command=_command,
    ready=lambda place: answers(f"http://{place.address}/"),
)
