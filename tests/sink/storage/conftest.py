"""A folder in memory for each test, where the system has one: these tests flush thousands of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    where = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="tailrace-", dir=where) as folder:
        yield Path(folder)
