"""A Go program is built once, only from the text that was pinned, and says what is missing where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.errors import NotInstalled
from tailrace.testing.services.golang import GoProgram

PROGRAM = GoProgram("example.com/tool", "v1.2.3", "h1:right", "./cmd/tool")


def fake_go(folder: Path, sum_: str, build: str = ': > "$6"') -> None:
    """A `go` that answers a download with a hash, and builds by running a line of shell."""
    folder.mkdir()
    script = folder / "go"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = mod ]; then\n'
        f'    echo "{{\\"Sum\\": \\"{sum_}\\", \\"Dir\\": \\"$PWD\\"}}"\n'
        f"else\n    {build}\nfi\n"
    )
    script.chmod(0o755)


def test_without_go_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"tool-v1\.2\.3 is built with Go.*install Go"):
        PROGRAM.install(tmp_path / "bin", print)


def test_it_is_built_once_and_only_the_program_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_go(tmp_path / "path", "h1:right")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    said: list[str] = []
    program = PROGRAM.install(tmp_path / "bin", said.append)
    assert PROGRAM.install(tmp_path / "bin", said.append) == program
    assert len(said) == 1
    assert list((tmp_path / "bin").iterdir()) == [program]


def test_it_is_called_by_its_package_and_found_once_it_is_there(tmp_path: Path) -> None:
    root = GoProgram("example.com/other/tool", "v1.2.3", "h1:right", ".")
    assert (PROGRAM.name, root.name) == ("tool-v1.2.3", "tool-v1.2.3")
    assert GoProgram("example.com/big", "v1", "h1:right", "./cmd/small").name == "small-v1"
    assert root.found(tmp_path) is None
    (tmp_path / "tool-v1.2.3").touch()
    assert root.found(tmp_path) == tmp_path / "tool-v1.2.3"


def test_tags_reach_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_go(tmp_path / "path", "h1:right", build='echo "$@" > "$6"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    tagged = GoProgram("example.com/tool", "v1.2.3", "h1:right", "./cmd/tool", "no_clouds")
    assert "-tags no_clouds ./cmd/tool" in tagged.install(tmp_path / "bin", lambda text: None).read_text()


def test_another_text_than_the_pinned_one_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_go(tmp_path / "path", "h1:other")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    with pytest.raises(NotInstalled, match="h1:other, not h1:right"):
        PROGRAM.install(tmp_path / "bin", lambda text: None)
    assert list((tmp_path / "bin").iterdir()) == []


def test_a_build_that_fails_shows_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_go(tmp_path / "path", "h1:right", build="echo no such package >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    with pytest.raises(NotInstalled, match=r"go build -mod=readonly.*no such package"):
        PROGRAM.install(tmp_path / "bin", lambda text: None)
    assert list((tmp_path / "bin").iterdir()) == []
