"""An Azure Blob Storage for tests: Azurite, in memory, with an account of its own, and how to reach it.

It is large (365 MB), so it comes up only when it is asked for by name.
"""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pyarrow.fs

from tailrace.testing.services.component import Command, Component, Place, answers
from tailrace.testing.services.npm import NpmProgram

ACCOUNT = "tailrace"

PROGRAM = NpmProgram("azurite", "3.37.0", "azurite-blob", "azurite-lock.json", "365 MB")


@dataclass(frozen=True, slots=True)
class AzureConnection:
    """All that a client needs."""

    endpoint: str
    account_name: str
    account_key: str = field(repr=False)

    def uri(self, bucket: str, prefix: str = "", scheme: str = "azure") -> str:
        """A sink URI as TiCDC writes them."""
        parameters = {
            "endpoint": self.endpoint,
            "account-name": self.account_name,
            "account-key": self.account_key,
        }
        return f"{scheme}://{bucket}/{prefix.strip('/')}?{urlencode(parameters)}"

    def filesystem(self) -> pyarrow.fs.AzureFileSystem:
        """A client of the tests' own, independent of what the sink uses."""
        address = self.endpoint.removeprefix("http://")
        return pyarrow.fs.AzureFileSystem(
            account_name=self.account_name,
            account_key=self.account_key,
            blob_storage_authority=address,
            dfs_storage_authority=address,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )

    def new_bucket(self, purpose: str = "test") -> str:
        """Make a container that nobody else uses; its name."""
        bucket = f"{purpose}-{uuid.uuid4().hex[:12]}"
        self.filesystem().create_dir(bucket)
        return bucket


def connection(place: Place) -> AzureConnection:
    return AzureConnection(f"http://{place.address}", ACCOUNT, _key(place))


def _key(place: Place) -> str:
    return base64.b64encode(place.secret.encode()).decode()


def _command(program: Path, place: Place) -> Command:
    argv: tuple[str, ...] = ("--blobHost", "127.0.0.1", "--blobPort", str(place.port), "--inMemoryPersistence")
    # Five seconds, its default, closes connections that a client is about to use again; each costs a retry of seconds.
    argv += ("--blobKeepAliveTimeout", "600")
    quiet = ("--silent", "--disableTelemetry", "--skipApiVersionCheck")
    return Command((str(program), *argv, *quiet), {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{_key(place)}"})


COMPONENT = Component(
    name="azure",
    what=f"Azure Blob Storage (Azurite {PROGRAM.version}); large, only by name",
    install=PROGRAM.install,
    command=_command,
    ready=lambda place: answers(f"http://{place.address}/{ACCOUNT}?comp=list"),
)
