"""The cluster's processes live and end as one: none is left when it stops, or when one of them dies."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from tailrace.testing.services import daemon, spark
from tailrace.testing.services.spark_processes import WORKERS

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def javas(mark: Path) -> list[psutil.Process]:
    """The Java processes whose folder or master is this start's."""
    found = psutil.process_iter(["name", "environ", "status"])
    alive = [each for each in found if each.info["name"] == "java" and each.info["status"] != psutil.STATUS_ZOMBIE]
    return [each for each in alive if str(mark) in (each.info["environ"] or {}).values()]


def test_it_starts_with_all_its_workers_and_leaves_none_behind(tmp_path: Path) -> None:
    place = daemon.up(spark.COMPONENT, print)
    try:
        assert spark.connection(place).master == f"spark://127.0.0.1:{place.port}"
        local = place.folder / "data" / "local"
        started = javas(local)
        assert len(started) == 1 + WORKERS
        started[-1].kill()
        end = time.monotonic() + 20
        while javas(local):
            assert time.monotonic() < end, "a process of the cluster lives on without the others"
            time.sleep(0.1)
        assert daemon.find(spark.COMPONENT) is None
        again = daemon.up(spark.COMPONENT, print)
        assert len(javas(local)) == 1 + WORKERS
        assert again.port != place.port
    finally:
        daemon.down(spark.COMPONENT)
    assert javas(local) == []
