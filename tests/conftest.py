"""What all tests share: tests that need a real component are skipped where it does not run, and fail in CI.

A large component is asked for by name: its tests are the long form, which TAILRACE_CI=long wants whole.
"""

from __future__ import annotations

import functools
import os

import pytest

from tailrace.testing.services import is_up
from tailrace.testing.services.catalogue import LARGE

running = functools.cache(is_up)


def missing_service(item: pytest.Item) -> str:
    """How to start the first component that a test needs and that does not run; empty where all run."""
    for marker in item.iter_markers("service"):
        for name in marker.args:
            if not running(name):
                return f"needs the component {name}: scripts/services up {name}"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing, asked = missing_service(item), os.environ.get("TAILRACE_CI")
    large = {name for marker in item.iter_markers("service") for name in marker.args} & LARGE
    if missing and (asked == "long" or (asked == "1" and not large)):
        pytest.fail(f"{missing} (TAILRACE_CI={asked} does not let it be skipped)", pytrace=False)
    if missing:
        pytest.skip(missing)
