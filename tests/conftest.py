"""What all tests share: tests that need a real component are skipped where it does not run, and fail in CI."""

from __future__ import annotations

import functools
import os

import pytest

from tailrace.testing.services import is_up

running = functools.cache(is_up)


def missing_service(item: pytest.Item) -> str:
    """How to start the first component that a test needs and that does not run; empty where all run."""
    for marker in item.iter_markers("service"):
        for name in marker.args:
            if not running(name):
                return f"needs the component {name}: scripts/services up {name}"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = missing_service(item)
    if missing and os.environ.get("TAILRACE_CI") == "1":
        pytest.fail(f"{missing} (TAILRACE_CI=1 lets nothing be skipped)", pytrace=False)
    if missing:
        pytest.skip(missing)
