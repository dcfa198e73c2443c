"""A store of two processes in this one, a client of it, and a table of three ranges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tailrace.change.schema import TableSchema
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.process import Options, StoreProcess
from tests.dataserver.stores import table


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoreProcess]]:
    folder = tmp_path_factory.mktemp("store")
    first = StoreProcess(Options(folder / "0", "127.0.0.1:0", "both", fsync=False))
    first.start()
    second = StoreProcess(Options(folder / "1", "127.0.0.1:0", "data", first.address, fsync=False))
    second.start()
    yield [first, second]
    second.stop(0)
    first.stop(0)


@pytest.fixture(scope="module")
def client(processes: list[StoreProcess]) -> Iterator[StoreClient]:
    made = StoreClient(f"dataserver://{processes[0].address}")
    made.create_schema("shop")
    yield made
    made.close()


@pytest.fixture
def orders(client: StoreClient, request: pytest.FixtureRequest) -> TableSchema:
    """A table of three ranges on two servers."""
    definition = table(name=request.node.name.replace("[", "_").rstrip("]"))
    return client.create_table(definition, ranges=3, handles=(0, 30))
