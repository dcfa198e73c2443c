"""Building a Go program of an exact version, checked against a hash that is written down here.

The hash covers the module's source with its go.sum, and the build then holds every dependency to that go.sum: what is
built is always the same text, whoever served it. Only the program is kept; the module and build caches go.
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
class GoProgram:
    """A main package of a module at a version; `hash` is Go's h1 of the module's source, `tags` what is left out."""

    module: str
    version: str
    hash: str
    package: str
    tags: str = ""

    @property
    def name(self) -> str:
        return f"{(self.package.strip('./') or self.module).rpartition('/')[2]}-{self.version}"

    def found(self, folder: Path) -> Path | None:
        """The path of the program where it was built already."""
        program = folder / self.name
        return program if program.exists() else None

    def install(self, folder: Path, tell: Tell) -> Path:
        """The path of the program below `folder`, built first where it is not there."""
        if (built := self.found(folder)) is not None:
            return built
        program = folder / self.name
        go = shutil.which("go")
        if go is None:
            raise NotInstalled(
                f"{self.name} is built with Go, and no `go` is on PATH: install Go 1.25 or later"
                " (Debian: apt-get install golang-go), then call `scripts/services up` again"
            )
        folder.mkdir(parents=True, exist_ok=True)
        tell(f"building {self.name} with Go (once; one to three minutes)")
        scratch = Path(tempfile.mkdtemp(prefix="build-", dir=folder))
        try:
            os.replace(self._built(go, scratch), program)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return program

    def _built(self, go: str, scratch: Path) -> Path:
        env = os.environ | {
            "GOPATH": str(scratch / "path"),
            "GOCACHE": str(scratch / "cache"),
            "GOFLAGS": "-modcacherw",
            "GOWORK": "off",
            # The hash below is the check; a second one by a server would only be one more thing to be away.
            "GONOSUMDB": self.module,
            "CGO_ENABLED": "0",
        }
        source = f"{self.module}@{self.version}"
        found = json.loads(self._go([go, "mod", "download", "-json", source], scratch, env))
        if found["Sum"] != self.hash:
            raise NotInstalled(f"{source} has the hash {found['Sum']}, not {self.hash}: it is not what was pinned")
        target = scratch / self.name
        build = [go, "build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", str(target)]
        build += [*(("-tags", self.tags) if self.tags else ()), self.package]
        self._go(build, Path(found["Dir"]), env)
        return target

    def _go(self, command: list[str], where: Path, env: dict[str, str]) -> str:
        done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise NotInstalled(f"building {self.name} failed at `go {' '.join(command[1:3])}`: {said}")
        return done.stdout
