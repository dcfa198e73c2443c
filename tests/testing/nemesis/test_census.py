"""The census knows who lives, what they take, and who outlives the end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tailrace.testing.nemesis import census
from tailrace.testing.nemesis.census import MEBI, Census

CODE = "import sys; data = bytearray(int(sys.argv[1])); print(1, flush=True); sys.stdin.read()"


@pytest.fixture
def counted() -> Census:
    return Census()


@pytest.fixture
def child(counted: Census) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", CODE, str(64 * MEBI)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_memory_is_told_by_role(counted: Census, child: subprocess.Popen[bytes]) -> None:
    counted.count()
    role, megabytes = counted.memory().split()
    assert role == "worker"
    assert int(megabytes) >= 64


def test_who_outlives_the_end_is_named_and_ended(
    counted: Census, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census, "GONE_WITHIN_S", 0.3)
    counted.count()
    assert counted.left() == [f"worker {child.pid}"]
    child.wait(10)
    assert counted.left() == []


def test_who_ended_by_himself_is_not_left(counted: Census, child: subprocess.Popen[bytes]) -> None:
    counted.count()
    child.kill()
    child.wait()
    assert counted.left() == []
    assert counted.memory() == ""


def test_a_process_that_grows_is_named_once_it_has_lived_for_a_while(
    counted: Census, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted.count()
    assert counted.grown() == []
    monkeypatch.setattr(census, "GREW_AFTER_S", 0.0)
    assert counted.grown() == []
    monkeypatch.setattr(census, "GREW_BYTES", 32 * MEBI)
    monkeypatch.setattr(census, "GREW_TIMES", 1.1)
    known = psutil.Process(child.pid)
    before = known.memory_info().rss
    monkeypatch.setattr(psutil.Process, "memory_info", lambda self: type("Info", (), {"rss": before + 64 * MEBI}))
    counted.count()
    [sentence] = counted.grown()
    assert sentence.startswith(f"worker {child.pid} grew from")
