"""Three minutes of everything that can go wrong: no reader notices, and no process is left."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.testing.environment import package_environment

MINUTES = float(os.environ.get("TAILRACE_NEMESIS_MINUTES", "3"))


@pytest.mark.faults
@pytest.mark.spark
@pytest.mark.timeout(MINUTES * 60 + 300)
def test_no_reader_notices_what_a_nemesis_does(tmp_path: Path) -> None:
    seed = int(os.environ.get("TAILRACE_NEMESIS_SEED", random.randrange(1 << 31)))
    command = [sys.executable, "-m", "tailrace.testing.nemesis", "--seed", str(seed), "--minutes", f"{MINUTES:g}"]
    ended = subprocess.run(
        [*command, "--folder", str(tmp_path / "nemesis")], env=package_environment(), capture_output=True, text=True
    )
    sys.stdout.write(ended.stdout)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr[-4000:]}"
    assert ended.stdout.startswith(f"nemesis: seed {seed}\n")
    assert ended.stdout.endswith("nemesis: no finding, no process left\n")
