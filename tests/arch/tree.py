"""The project as the tests of its shape see it: tracked files, modules, and what each module imports.

Generated code (`proto/*_pb2*`) is not looked at. Nothing here imports what it describes.
"""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tailrace"


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file of ours; `room` is the package or module right under `tailrace`, empty outside of it."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def room(self) -> str:
        if SOURCE not in self.path.parents:
            return ""
        first = self.path.relative_to(SOURCE).parts[0]
        return first.removesuffix(".py")

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every module that is imported anywhere in the file, by absolute name, with the line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((name, node.lineno) for name in self._from(node))

    def _from(self, node: ast.ImportFrom) -> Iterator[str]:
        module = node.module or ""
        if node.level:
            base = self.path.parent.relative_to(ROOT / "src").parts
            module = ".".join((*base[: len(base) - node.level + 1], *filter(None, [module])))
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)

    def functions(self) -> Iterator[tuple[str, int]]:
        """Name and length in lines of every function and method."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@functools.cache
def tracked() -> tuple[Path, ...]:
    """All files that belong to the project: what Git tracks or would track; without Git, everything but `.venv`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        found = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if ".venv" not in path.parts and "__pycache__" not in path.parts]
    return tuple(sorted(path for path in found if path.is_file()))


@functools.cache
def modules() -> tuple[Module, ...]:
    """Every Python module under src, tests and bench that a person wrote."""
    found = []
    for path in tracked():
        top = path.relative_to(ROOT).parts[0]
        if path.suffix != ".py" or top not in {"src", "tests", "bench"} or path.stem.endswith(("_pb2", "_pb2_grpc")):
            continue
        text = path.read_text(encoding="utf-8")
        found.append(Module(path, text, ast.parse(text, str(path))))
    return tuple(found)


def source() -> list[Module]:
    return [module for module in modules() if module.room]
