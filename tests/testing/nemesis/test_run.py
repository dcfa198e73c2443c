"""A run says its seed first, ends well without a finding, and with one says it, how to repeat it, and keeps all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailrace.testing.nemesis import __main__ as run
from tailrace.testing.nemesis import storm
from tailrace.testing.nemesis.harms import Harm, UnderWay
from tailrace.testing.nemesis.storm import Found, Storm
from tailrace.testing.nemesis.world import World
from tailrace.testing.validators import Finding


class NoWorld:
    """A world in which nothing is started."""

    def __init__(self, folder: Path, seed: int, per_second: float) -> None:
        self.copies: list[object] = []
        self.statements = 0
        self.traffic = type("Traffic", (), {"transactions": 0, "rows": 0})

    def __enter__(self) -> NoWorld:
        return self

    def __exit__(self, *failure: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "World", NoWorld)


def test_without_a_finding_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Storm, "run", lambda self, seconds: None)
    ended = CliRunner().invoke(run.nemesis, ["--seed", "7", "--folder", str(tmp_path / "here")])
    assert ended.exit_code == 0, ended.output
    assert ended.output.splitlines()[0] == "nemesis: seed 7"
    assert ended.output.splitlines()[-1] == "nemesis: no finding, no process left"
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("error", [Found([Finding("order", "here", "a row is late")]), AssertionError("a row is late")])
def test_a_finding_is_said_with_the_way_to_repeat_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    def blow(self: Storm, seconds: float) -> None:
        assert seconds == 120.0
        raise error

    monkeypatch.setattr(Storm, "run", blow)
    ended = CliRunner().invoke(run.nemesis, ["--seed", "7", "--minutes", "2", "--folder", str(tmp_path / "here")])
    assert ended.exit_code == 1
    assert "FOUND" in ended.output and "a row is late" in ended.output
    assert "scripts/nemesis --seed 7 --minutes 2" in ended.output
    assert "a row is late" in (tmp_path / "here" / "journal").read_text()


def test_a_run_without_a_seed_takes_one_and_says_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Storm, "run", lambda self, seconds: None)
    first, second = (CliRunner().invoke(run.nemesis, ["--folder", str(tmp_path / name)]).output for name in "ab")
    assert first.splitlines()[0] != second.splitlines()[0]


def test_the_same_seed_chooses_the_same_harms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(seed: int) -> list[str]:
        said: list[str] = []
        names = iter(range(1000))

        def begin(world: World, dice: random.Random) -> UnderWay:
            return UnderWay(f"{next(names)}", f"{dice.random():.6f}", 0.0, lambda: None)

        monkeypatch.setattr(storm, "_ALL", tuple(Harm(f"harm {n}", 1 + n, begin) for n in range(5)))
        made = Storm(NoWorld(tmp_path, 1, 1.0), random.Random(seed), said.append, lambda: None)  # type: ignore[arg-type]
        for _ in range(20):
            made._begin()
        assert sum(made.harms.values()) == 20
        return [*said, *sorted(made.harms)]

    assert chosen(1) == chosen(1) != chosen(2)
