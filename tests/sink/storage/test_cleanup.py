"""The cleanup takes expired dates and nothing else, follows the checkpoint, and never stops the data."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import pytest

from tailrace.change.tso import compose
from tailrace.errors import SinkAway
from tailrace.sink.storage.cleanup import Cleanup, remove_expired
from tailrace.sink.storage.cron import Schedule
from tailrace.sink.storage.paths import DateSeparator, Layout
from tailrace.store.local import LocalStore

MIDNIGHT = compose(round(datetime.fromisoformat("2021-01-03T00:00:00+00:00").timestamp() * 1000))
OLD = ["a/t/1/2021-01-01/CDC1.csv", "a/t/1/2021-01-01/meta/CDC.index", "a/t/1/2021-01-01/20210101/CDC1.csv"]
OLD += ["a/t/2/77/2020-12-31/CDC1.csv", "2021-01-01/2021-01-01/5/2021-01-01/CDC1.csv"]
YOUNG = ["a/t/1/2021-01-02/CDC1.csv", "a/t/3/2021-01-03/CDC1.csv", "a/t/meta/schema_1_0000000000.json", "metadata"]
YOUNG += ["2021-01-01/2021-01-01/meta/schema_5_0000000000.json", "2021-01-01/meta/schema_5_0000000000.json"]
YOUNG += ["2020-01-01/2020-01-01/5/CDC1.csv", ".tailrace/stage/1/2020-01-01/p.part"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (*OLD, *YOUNG):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def left(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_expired_dates_go_by_their_place_in_the_path(root: Path) -> None:
    assert remove_expired(LocalStore(str(root)), date(2021, 1, 2), partitions=True) == 3
    assert left(root) == sorted(YOUNG)
    assert not (root / "a/t/2").exists() and (root / "a/t/1").exists()
    assert remove_expired(LocalStore(str(root)), date(2021, 1, 2), partitions=True) == 0


@dataclass
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


def cleanup(root: Path, clock: Clock, days: int = 1, separator: DateSeparator = "day") -> Cleanup:
    return Cleanup(LocalStore(str(root)), Layout(".csv", separator), days, Schedule.parse("0 0 2 * * *"), clock)


def test_it_runs_when_its_time_has_come_and_by_the_checkpoint(root: Path) -> None:
    clock = Clock(datetime(2025, 6, 1, 1, 59))
    job = cleanup(root, clock)
    job.tick(MIDNIGHT)
    clock.now = datetime(2025, 6, 1, 2, 0)
    job.tick(0)
    job.wait()
    assert left(root) == sorted([*OLD, *YOUNG])
    clock.now = datetime(2025, 6, 2, 2, 0, 1)
    job.tick(MIDNIGHT)
    job.close()
    assert left(root) == sorted(YOUNG)


@pytest.mark.parametrize(("days", "separator"), [(0, "day"), (1, "month"), (1, "none")])
def test_it_never_runs_where_nothing_can_expire(root: Path, days: int, separator: DateSeparator) -> None:
    clock = Clock(datetime(2025, 6, 1))
    job = cleanup(root, clock, days, separator)
    clock.now = datetime(2025, 7, 1)
    job.tick(MIDNIGHT)
    job.close()
    assert left(root) == sorted([*OLD, *YOUNG])


class _Away(LocalStore):
    def folders(self, folder: str) -> list[str]:
        raise SinkAway("the folder does not answer")


def test_a_failure_is_logged_and_it_comes_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock(datetime(2025, 6, 1))
    job = Cleanup(_Away(str(tmp_path)), Layout(".csv"), 1, Schedule.parse("* * * * * *"), clock)
    with caplog.at_level(logging.WARNING):
        for second in (1, 2):
            clock.now = datetime(2025, 6, 1, 0, 0, second)
            job.tick(MIDNIGHT)
            job.wait()
        said = [record.getMessage() for record in caplog.records]
    job.close()
    assert len(said) == 2 and all("does not answer" in each for each in said)
