"""A program of npm is installed once, by the hashes that are written down, and no package runs a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailrace.errors import NotInstalled
from tailrace.testing.services import azure, npm
from tailrace.testing.services.npm import NpmProgram

PROGRAM = NpmProgram("tool", "1.2.3", "tool-run", "azurite-lock.json", "1 MB")


def fake_npm(folder: Path, script: str) -> str:
    folder.mkdir()
    for name in ("npm", "node"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_without_npm_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"tool-1\.2\.3 is installed with npm.*install Node"):
        PROGRAM.install(tmp_path / "bin", print)


def test_it_is_installed_once_by_the_lock_and_without_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install = 'echo "$@" > args; mkdir -p node_modules/.bin; : > node_modules/.bin/tool-run'
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "path", install))
    said: list[str] = []
    program = PROGRAM.install(tmp_path / "bin", said.append)
    assert PROGRAM.install(tmp_path / "bin", said.append) == program
    assert len(said) == 1
    place = tmp_path / "bin" / "tool-1.2.3"
    assert [each.name for each in (tmp_path / "bin").iterdir()] == ["tool-1.2.3"]
    assert "ci --omit=dev --ignore-scripts" in (place / "args").read_text()
    assert json.loads((place / "package.json").read_text())["dependencies"] == {"tool": "1.2.3"}


def test_an_installation_that_fails_shows_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "path", "echo EINTEGRITY >&2; exit 1"))
    with pytest.raises(NotInstalled, match=r"npm ci.*EINTEGRITY"):
        PROGRAM.install(tmp_path / "bin", lambda text: None)
    assert list((tmp_path / "bin").iterdir()) == []


def test_the_lock_hashes_every_package_and_names_no_address() -> None:
    text = (Path(npm.__file__).parent / azure.PROGRAM.lock).read_text()
    packages = json.loads(text)["packages"]
    assert packages.pop("")["dependencies"] == {azure.PROGRAM.package: azure.PROGRAM.version}
    assert len(packages) > 100
    assert [name for name, each in packages.items() if not each.get("integrity", "").startswith("sha512-")] == []
    assert "://" not in text
