"""Installing a program of an exact version with npm, every package checked against a hash that is written down here.

The lock beside this module holds versions and hashes, and no address. No package's own install script is run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tailrace.errors import NotInstalled
from tailrace.testing.services.component import Tell


@dataclass(frozen=True, slots=True)
class NpmProgram:
    """A program of a package at a version; `lock` is the name of a file beside this module, `size` is for people."""

    package: str
    version: str
    program: str
    lock: str
    size: str

    @property
    def name(self) -> str:
        return f"{self.package}-{self.version}"

    def install(self, folder: Path, tell: Tell) -> Path:
        """The path of the program below `folder`, installed first where it is not there."""
        place = folder / self.name
        program = place / "node_modules" / ".bin" / self.program
        if program.exists():
            return program
        npm, node = shutil.which("npm"), shutil.which("node")
        if npm is None or node is None:
            raise NotInstalled(
                f"{self.name} is installed with npm, and no `npm` with `node` is on PATH: install Node 20 or later"
                " (Debian: apt-get install npm), then call `scripts/services up` again"
            )
        folder.mkdir(parents=True, exist_ok=True)
        tell(f"installing {self.name} with npm (once; {self.size})")
        scratch = Path(tempfile.mkdtemp(prefix="npm-", dir=folder))
        try:
            self._installed(npm, scratch / "made", scratch / "cache")
            shutil.rmtree(place, ignore_errors=True)
            os.replace(scratch / "made", place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return program

    def _installed(self, npm: str, where: Path, cache: Path) -> None:
        where.mkdir()
        lock = (Path(__file__).parent / self.lock).read_text(encoding="utf-8")
        (where / "package-lock.json").write_text(lock, encoding="utf-8")
        wanted = {"name": json.loads(lock)["name"], "private": True, "dependencies": {self.package: self.version}}
        (where / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
        command = [npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", str(cache)]
        done = subprocess.run(command, cwd=where, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise NotInstalled(f"installing {self.name} failed at `npm ci`: {said}")
