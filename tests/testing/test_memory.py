"""The peak is seen although it is gone at the end, and children count."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from tailrace.testing.memory import PeakMemory, tree_bytes

MIB = 1 << 20


def test_a_peak_that_is_over_is_remembered() -> None:
    before = tree_bytes(psutil.Process())
    with PeakMemory(every_s=0.01) as memory:
        held = np.ones(128 * MIB, np.uint8)
        time.sleep(0.1)
        del held
    assert memory.peak_bytes - before > 100 * MIB


def test_children_and_their_children_count() -> None:
    hold = "held = bytearray(b'x') * (64 << 20); print(flush=True); input()"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    before = tree_bytes(psutil.Process())
    with PeakMemory(every_s=0.01) as memory:
        child = subprocess.Popen([sys.executable, "-c", nested], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.1)
        child.communicate(b"\n")
    assert memory.peak_bytes - before > 60 * MIB


def test_an_error_inside_is_not_swallowed() -> None:
    with pytest.raises(ValueError, match="mine"), PeakMemory():
        raise ValueError("mine")


def test_a_process_that_is_gone_takes_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(child.pid)
    child.wait()
    assert tree_bytes(process) == 0
