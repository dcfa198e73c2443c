"""What Prometheus itself says of the rules, the board's expressions, and the server's exposition."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tailrace.testing.services import program
from tests.observe.shown import everything
from tests.ops.expressions import RULE_TESTS, RULES, panel_expressions

pytestmark = pytest.mark.service("promtool")


def promtool(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([program("promtool"), *arguments], input=given, capture_output=True, timeout=60, check=False)


def test_the_rules_are_rules() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_when_it_should_and_only_then() -> None:
    done = promtool("test", "rules", str(RULE_TESTS))
    assert done.returncode == 0, done.stdout + done.stderr


def _as_rules(folder: Path, expressions: list[str]) -> Path:
    """Expressions as a file of recording rules, which is what `promtool` checks. (JSON is YAML, too.)"""
    named = [{"record": f"panel:{at}", "expr": expression} for at, expression in enumerate(expressions)]
    path = folder / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "board", "rules": named}]}))
    return path


def test_every_expression_of_the_board_parses(tmp_path: Path) -> None:
    done = promtool("check", "rules", str(_as_rules(tmp_path, [expression for _, expression in panel_expressions()])))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("wrong", ["sum by (", "rate(tailrace_rows_total)", "tailrace_meta_up +"])
def test_what_is_no_expression_is_found(tmp_path: Path, wrong: str) -> None:
    assert promtool("check", "rules", str(_as_rules(tmp_path, [wrong]))).returncode != 0


def test_the_exposition_is_clean() -> None:
    done = promtool("check", "metrics", given=everything())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
