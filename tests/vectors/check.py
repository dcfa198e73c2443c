#!/usr/bin/env python3
"""check.py DIR: checks every golden case in a folder against Tailrace, whatever its kind.

    python tests/vectors/check.py tests/vectors/data [--verbose]

Each document of the folder (the format is the vectors' FORMAT.md) goes to the module of `kinds/` that is named like
its kind. Kinds without a module are named, not passed over in silence. The last line is `N passed, N failed, N
skipped`; the exit code is 1 when a case failed or no case was found at all. It may be started with any Python: it goes
on with the one of the repository's `.venv`.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KINDS = Path(__file__).resolve().parent / "kinds"
_NEEDED = ("pyarrow", "numpy")
_AGAIN = "TAILRACE_CHECK_AGAIN"

Verdict = tuple[str, str]


def documents(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every JSON document below a folder that says of which kind it is, by path."""
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and isinstance(document.get("kind"), str):
            yield path, document


def check_document(document: dict[str, Any]) -> Iterator[Verdict] | None:
    """(case, "" | "skip: why" | what is wrong) for each case; None when no module knows the kind."""
    kind = document["kind"]
    if not kind.isidentifier() or not (KINDS / f"{kind}.py").is_file():
        return None
    verdicts: Iterator[Verdict] = import_module(f"tests.vectors.kinds.{kind}").check(document)
    return verdicts


def check_folder(folder: Path, verbose: bool = False) -> int:
    """Prints what failed and what was left out; the exit code."""
    counts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for path, document in documents(folder):
        verdicts = check_document(document)
        if verdicts is None:
            left_out[document["kind"]] += 1
            continue
        for case, verdict in verdicts:
            counts["skipped" if verdict.startswith("skip: ") else "failed" if verdict else "passed"] += 1
            if verdict.startswith("skip: "):
                skipped[verdict.removeprefix("skip: ")] += 1
            elif verdict or verbose:
                print(f"{'FAILED' if verdict else 'passed'} {path.relative_to(folder)}: {case}: {verdict or 'ok'}")
    for why, number in sorted(skipped.items()):
        print(f"skipped {number}: {why}")
    for kind, number in sorted(left_out.items()):
        print(f"left out: kind {kind} ({number} documents): nothing here checks it yet")
    if not counts and not left_out:
        print(f"no golden document in {folder}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


def _go_on_with_our_python() -> None:
    """Replaces this process by the repository's Python when this one has not what the checks need."""
    if all(find_spec(name) for name in _NEEDED):
        return
    ours = ROOT / ".venv" / "bin" / "python"
    if not ours.exists() or os.environ.get(_AGAIN):
        sys.exit(f"check.py needs {' and '.join(_NEEDED)}: run scripts/setup")
    os.environ[_AGAIN] = "1"
    os.execv(ours, [str(ours), __file__, *sys.argv[1:]])


def main(arguments: list[str]) -> int:
    folders = [argument for argument in arguments if not argument.startswith("-")]
    options = set(arguments) - set(folders)
    if len(folders) != 1 or not options <= {"--verbose"} or not Path(folders[0]).is_dir():
        print("usage: check.py DIR [--verbose]; DIR is a folder of golden documents", file=sys.stderr)
        return 2
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    return check_folder(Path(folders[0]), bool(options))


if __name__ == "__main__":
    _go_on_with_our_python()
    sys.exit(main(sys.argv[1:]))
