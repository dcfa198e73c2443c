"""One tree replayed into one target by the command line, as a process that may be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tailrace.observe.failpoints import VARIABLE
from tailrace.sink.mysql.sqlite.definitions import table_name
from tests.trees.target import Target
from tests.trees.tree import ExpectedTable, Tree

_SECONDS = 300.0
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Run:
    """How a replay ended. `cuts` are those that it delivered."""

    code: int
    output: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def problems(self) -> list[str]:
        return [] if self.code == 0 else [f"consume ended with {self.code}: {self.output.strip()[-800:]}"]

    @property
    def cuts(self) -> int:
        found = re.search(r"in ([\d,]+) cuts", self.output)
        return int(found[1].replace(",", "")) if found else 0


class Replay:
    def __init__(self, tree: Tree, target: Target, work: Path) -> None:
        self._tree = tree
        self._target = target
        self._work = work
        self._expected = tree.expected()

    def begin_anew(self) -> None:
        self._target.begin_anew()
        self._target.prepare(self._expected.get("before", ()))

    def words(self) -> list[str]:
        """The command without its program."""
        tree, target = self._tree, self._target
        words = ["consume", tree.uri, "--into", target.uri, "--config", str(tree.config), "--once"]
        words += ["--time-zone", self._expected.get("time_zone", "UTC"), "--state", str(target.state)]
        return [*words, "--without-commit-ts"] if tree.without_commit_ts else words

    def run(self, failpoint: str = "") -> Run:
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        if failpoint:
            environment[VARIABLE] = failpoint
        done = subprocess.run(
            [sys.executable, "-m", "tailrace", *self.words()],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Run(done.returncode, done.stdout + done.stderr)

    def differences(self) -> list[str]:
        """What the target holds that it should not, or lacks."""
        tables = [ExpectedTable.of(said) for said in self._expected["tables"].values()]
        names = {table_name(table.schema, table.name): table for table in tables}
        views = {_view_name(name) for name in self._expected.get("views", {})}
        there = self._target.tables()
        found = [f"{name} is missing" for name in sorted((names.keys() | views) - there)]
        found += [f"{name} should not be there" for name in sorted(there - names.keys() - views)]
        for name in sorted(names.keys() & there):
            found += self._of_table(names[name])
        return found

    def _of_table(self, table: ExpectedTable) -> list[str]:
        got = self._target.rows(table.schema, table.name, table.columns, table.types)
        name, missing, surplus = f"{table.schema}.{table.name}", table.rows - got, got - table.rows
        found = [f"{name} lacks {row} ({times} times)" for row, times in list(missing.items())[:_SHOWN]]
        return found + [f"{name} has {row} ({times} times)" for row, times in list(surplus.items())[:_SHOWN]]


def _view_name(full_name: str) -> str:
    schema, _, table = full_name.partition(".")
    return table_name(schema, table)
