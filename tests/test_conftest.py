"""A missing component is seen: skipped with the way out on a desk, a failure in CI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import conftest

HINT = "needs the component s3: scripts/services up s3"


@pytest.fixture
def needy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.Item]:
    """A test that needs a component, on a machine where none runs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TAILRACE_CI", raising=False)
    conftest.running.cache_clear()
    item: pytest.Item = request.node
    item.add_marker(pytest.mark.service("s3"))
    yield item
    conftest.running.cache_clear()


def test_a_missing_component_skips_its_tests(needy: pytest.Item) -> None:
    with pytest.raises(pytest.skip.Exception, match=HINT):
        conftest.pytest_runtest_setup(needy)


def test_in_ci_a_missing_component_is_a_failure(needy: pytest.Item, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CI", "1")
    with pytest.raises(pytest.fail.Exception, match=HINT):
        conftest.pytest_runtest_setup(needy)


@pytest.mark.parametrize(("asked", "outcome"), [("1", pytest.skip.Exception), ("long", pytest.fail.Exception)])
def test_a_large_component_may_be_missing_in_ci_but_not_in_its_long_form(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    asked: str,
    outcome: type[Exception],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TAILRACE_CI", asked)
    monkeypatch.setattr(conftest, "running", lambda name: False)
    request.node.add_marker(pytest.mark.service("azure"))
    with pytest.raises(outcome, match="scripts/services up azure"):
        conftest.pytest_runtest_setup(request.node)


def test_a_test_that_needs_nothing_runs(request: pytest.FixtureRequest) -> None:
    assert conftest.missing_service(request.node) == ""
