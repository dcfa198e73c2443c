"""A whole server but for the pipeline, and the command line as a process would call it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailrace.cli.main import main
from tailrace.server.grpc.servicer import Servicer, serve
from tailrace.server.service import Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions
from tests.progress.ledgers import CLUSTER, file_database
from tests.server.carriers import IdleCarrier, new_store


@dataclass
class Running:
    address: str
    service: Service
    upstream: str


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A server of an in-memory upstream; TAILRACE_SERVER names it."""
    upstream = new_store()[0]
    with file_database(tmp_path) as meta:
        service = Service(meta, ServiceOptions("one", CLUSTER, poll_seconds=0.02), IdleCarrier)
        server, port = serve(Servicer(Subscriptions(meta, CLUSTER, service.wake), CLUSTER, upstream), "127.0.0.1:0")
        service.start()
        monkeypatch.setenv("TAILRACE_SERVER", f"127.0.0.1:{port}")
        yield Running(f"127.0.0.1:{port}", service, upstream)
        server.stop(None).wait()
        service.stop()


@dataclass
class Ended:
    code: int
    out: str
    err: str


Call = Callable[..., Ended]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`tailrace ARGUMENTS...`: its exit code and what it wrote."""

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["tailrace", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code if isinstance(ended.value.code, int) else 0
        return Ended(code, *capsys.readouterr())

    return run
