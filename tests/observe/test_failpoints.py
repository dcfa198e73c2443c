"""Failpoints act exactly where, when and as often as the environment asks, and nowhere else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tailrace.errors import ConfigError, WorkerLost
from tailrace.observe import failpoints
from tailrace.observe.failpoints import FAILPOINTS, FOLDER, VARIABLE, reach

SOURCE = Path(failpoints.__file__).parents[1]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    failpoints.reset()


def test_without_the_variable_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in FAILPOINTS:
        reach(name)


def test_raise_comes_at_the_asked_pass_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "stage-file=raise@3,before-index=raise")
    reach("stage-file")
    reach("stage-file")
    with pytest.raises(WorkerLost, match="stage-file"):
        reach("stage-file")
    reach("stage-file")
    with pytest.raises(WorkerLost, match="before-index"):
        reach("before-index")


def test_sleep_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "log-page=sleep:0.05")
    began = time.monotonic()
    reach("log-page")
    assert time.monotonic() - began >= 0.05
    began = time.monotonic()
    reach("log-page")
    assert time.monotonic() - began < 0.05


def test_kill_ends_the_own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "after-naming=kill@2")
    code = "from tailrace.observe.failpoints import reach; reach('after-naming'); print(1); reach('after-naming')"
    monkeypatch.setenv("PYTHONPATH", str(SOURCE.parent))
    ended = subprocess.run([sys.executable, "-u", "-c", code], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == b"1\n"


def test_a_point_with_a_folder_acts_once_over_all_restarts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "before-ddl=raise")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(WorkerLost):
        reach("before-ddl")
    failpoints.reset()
    reach("before-ddl")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("before-ddl", str(os.getpid()))]


@pytest.mark.parametrize(
    "text",
    ["stage-fil=kill", "stage-file", "stage-file=burn", "stage-file=kill@0", "stage-file=kill@x", "stage-file=sleep:x"],
)
def test_a_bad_entry_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ConfigError, match="stage-file"):
        reach("log-page")


def test_stop_stops_the_own_process_until_it_is_told_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "after-naming=stop")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE.parent))
    code = "from tailrace.observe.failpoints import reach; reach('after-naming'); print(1)"
    process = subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    assert process.communicate(timeout=30)[0] == b"1\n"


def test_a_file_arms_and_disarms_a_process_that_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    monkeypatch.setenv(VARIABLE, f"@{plan}")
    reach("before-ddl")
    plan.write_text("before-ddl=raise@2\n")
    reach("before-ddl")
    with pytest.raises(WorkerLost):
        reach("before-ddl")
    reach("before-ddl")
    plan.write_text("before-ddl=raise\n")
    os.utime(plan, ns=(1, 1))
    with pytest.raises(WorkerLost):
        reach("before-ddl")
    plan.write_text("")
    reach("before-ddl")
    plan.write_text("no-such=raise")
    with pytest.raises(ConfigError, match="no-such"):
        reach("before-ddl")


def test_the_source_reaches_every_point_that_is_declared_and_no_other() -> None:
    reached = {
        name
        for path in SOURCE.rglob("*.py")
        if path.name != "failpoints.py"
        for name in re.findall(r"\breach\(\"([^\"]+)\"\)", path.read_text())
    }
    assert reached == set(FAILPOINTS)


def test_there_are_many_points_and_each_says_what_is_true_there() -> None:
    assert len(FAILPOINTS) >= 30
    assert len(set(FAILPOINTS.values())) == len(FAILPOINTS)
