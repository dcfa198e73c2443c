"""Every golden document that the repository holds is checked, and the checker itself tells good from bad."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.check import ROOT, check_document, check_folder, documents

DATA = Path(__file__).parent / "data"
FOUND = {str(path.relative_to(DATA)): document for path, document in documents(DATA)}


@pytest.mark.parametrize("name", sorted(FOUND))
def test_every_case_of_a_document_holds(name: str) -> None:
    verdicts = check_document(FOUND[name])
    assert verdicts is not None, "a kind lost its checker"
    wrong = [f"{case}: {verdict}" for case, verdict in verdicts if verdict and not verdict.startswith("skip: ")]
    assert not wrong, "\n".join(wrong[:5])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    document: dict[str, Any] = {
        "kind": "filters",
        "cases": [{"rules": ["a.*"], "case_sensitive": False, "tables": [["a", "t", True], ["b", "t", False]]}],
    }
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "filters.json").write_text(json.dumps(document))
    return tmp_path


def test_what_holds_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_folder(folder) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"


def test_what_does_not_hold_is_named_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "deeper" / "filters.json"
    path.write_text(path.read_text().replace('["b", "t", false]', '["b", "t", true]'))
    assert check_folder(folder) == 1
    said = capsys.readouterr().out.splitlines()
    assert "b.t should be in" in said[0] and said[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_kind_that_nothing_checks_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.json").write_text('{"kind": "brand_new"}')
    assert check_folder(folder) == 0
    assert "left out: kind brand_new" in capsys.readouterr().out


def test_a_folder_without_cases_does_not_pass(tmp_path: Path) -> None:
    assert check_folder(tmp_path) == 1


def test_a_python_without_the_libraries_goes_on_with_ours_or_says_what_to_run(folder: Path) -> None:
    check = ROOT / "tests" / "vectors" / "check.py"
    bare = [getattr(sys, "_base_executable", sys.executable), "-I", "-S", str(check), str(folder)]
    done = subprocess.run(bare, capture_output=True, text=True, timeout=60, check=False)
    if (ROOT / ".venv" / "bin" / "python").exists():
        assert done.returncode == 0 and done.stdout.endswith("1 passed, 0 failed, 0 skipped\n"), done.stderr
    else:
        assert done.returncode == 1 and "run scripts/setup" in done.stderr
