"""The session behind a runner: opened when needed, replaced when it has ended, not asked for in vain by everybody."""

from __future__ import annotations

import pytest

from tailrace.errors import ClusterUnfit
from tailrace.pipeline import job
from tailrace.pipeline.job import REFUSED_SECONDS, SparkRunner
from tailrace.pipeline.session import SessionOptions


class Spark:
    """Sessions that are only opened, ended and stopped."""

    slots = 2

    def __init__(self, number: int) -> None:
        self.number = number
        self.ended = False
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


class Sessions:
    def __init__(self) -> None:
        self.opened: list[Spark] = []
        self.unfit = ""
        self.now = 0.0

    def open(self, options: object) -> Spark:
        self.opened.append(Spark(len(self.opened)))
        return self.opened[-1]

    def probe(self, session: object, limits: object) -> None:
        if self.unfit:
            raise ClusterUnfit(self.unfit)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    made = Sessions()
    monkeypatch.setattr(job, "open_session", made.open)
    monkeypatch.setattr(job, "probe", made.probe)
    return made


def test_a_session_is_opened_once_and_replaced_when_it_has_ended(sessions: Sessions) -> None:
    runner = SparkRunner(SessionOptions())
    assert [runner.slots, runner.slots] == [2, 2]
    assert len(sessions.opened) == 1
    sessions.opened[0].ended = True
    assert runner.slots == 2
    assert [session.stopped for session in sessions.opened] == [True, False]
    runner.close()
    assert sessions.opened[1].stopped


def test_a_cluster_that_is_unfit_is_asked_again_only_after_a_while(sessions: Sessions) -> None:
    runner = SparkRunner(SessionOptions(), clock=lambda: sessions.now)
    sessions.unfit = "no memory"
    for name in ("a", "b", "c"):
        with pytest.raises(ClusterUnfit, match="no memory") as raised:
            _ = runner.slots
        assert raised.value.at(subscription=name).subscription == name
    assert [session.stopped for session in sessions.opened] == [True]
    sessions.unfit = ""
    sessions.now = REFUSED_SECONDS + 1
    assert runner.slots == 2
    assert [session.stopped for session in sessions.opened] == [True, False]
