"""The example of a plugin passes the suite that it inherits, and is found by the scheme that it names."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tailrace import plugins
from tailrace.sink.base import SinkSpec
from tailrace.testing.environment import package_environment

PLUGIN = Path(__file__).parents[3] / "examples" / "plugin"


def test_the_suite_passes_the_example() -> None:
    command = [sys.executable, "-m", "pytest", str(PLUGIN / "tests"), "-q", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(PLUGIN), "-c", str(PLUGIN / "pyproject.toml"), "--import-mode=importlib"]
    env = package_environment({"PYTHONDONTWRITEBYTECODE": "1"})
    env["PYTHONPATH"] = f"{PLUGIN / 'src'}:{env['PYTHONPATH']}"
    ended = subprocess.run(command, capture_output=True, text=True, env=env)
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert "passed" in ended.stdout and "skipped" not in ended.stdout


def test_its_entry_point_makes_the_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an installation would write it, from the entry points that its pyproject.toml names."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    [(scheme, target)] = project["entry-points"]["tailrace.sinks"].items()
    info = tmp_path / "tailrace_sqlite-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[tailrace.sinks]\n{scheme} = {target}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(PLUGIN / "src"))
    assert scheme in plugins.sink_schemes()
    sink = plugins.open_sink(SinkSpec("any", f"{scheme}://{tmp_path}/changes.db"))
    assert sink.verify() == []
