"""Replays trees that TiCDC wrote and compares every table: `python tests/trees/check.py DIR [--into URI]`.

DIR is a tree or a folder of trees (FORMAT: `storage/`, `changefeed.toml`, `uri.txt`, `expected.json`). Each tree is
replayed by `tailrace consume` into an empty database, then again over what is there, then into an empty one with a
kill -9 in the middle. The last line is `N passed, N failed`; the exit code is 1 where one failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

from tests.trees.replay import Replay, Run  # noqa: E402
from tests.trees.target import Target, open_target  # noqa: E402
from tests.trees.tree import Tree  # noqa: E402

# Where a killed process leaves something to be finished; each tree is killed at one of them.
POINTS = ("after-naming", "between-files", "after-ddl", "after-commit", "before-ddl", "after-progress")


def check(tree: Tree, target: Target, work: Path, point: str) -> list[str]:
    """What is wrong, in sentences; nothing when all three replays hold."""
    replay = Replay(tree, target, work)
    replay.begin_anew()
    first = replay.run()
    found = [f"at first: {each}" for each in [*first.problems, *replay.differences()]]
    if found:
        return found
    found = [f"again: {each}" for each in [*replay.run().problems, *replay.differences()]]
    replay.begin_anew()
    killed = _killed(replay, point, max(1, first.cuts // 2))
    if not killed:
        found.append("no run could be killed")
    found += [f"after a kill at {point}: {each}" for each in [*replay.run().problems, *replay.differences()]]
    return found


def _killed(replay: Replay, point: str, at: int) -> bool:
    """A run that ended in a kill; a point that is passed less often is tried earlier, then another one."""
    for name in (point, "after-commit"):
        for number in dict.fromkeys((at, 1)):
            run: Run = replay.run(f"{name}=kill@{number}")
            if run.killed:
                return True
            replay.begin_anew()
    return False


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--into", default="sqlite://", help="a database's URI; each tree gets an empty one")
    options = parser.parse_args(argv)
    trees = Tree.below(options.folder)
    failed = 0
    for number, tree in enumerate(trees):
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tailrace-tree-") as work:
            target = open_target(options.into, Path(work))
            problems = check(tree, target, Path(work), POINTS[number % len(POINTS)])
        failed += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {tree.name} ({time.monotonic() - begun:.1f} s)", flush=True)
        for problem in problems[:10]:
            print(f"     {problem}")
    print(f"{len(trees) - failed} passed, {failed} failed")
    return 1 if failed or not trees else 0


if __name__ == "__main__":
    sys.exit(main())
