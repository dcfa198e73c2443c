"""Jars of exact versions for tests of what Spark can be joined with, fetched by the Ivy that comes with PySpark.

Each jar is checked against a hash that is written down here, once when it is fetched and again each time it is asked
for; where one differs nothing is used. They lie in the cache, never in the project.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tailrace.errors import NotInstalled
from tailrace.pipeline.java import cache_folder, java_home

FETCH_SECONDS = 240

# Delta for the version of Spark that is locked; the rest of what it needs comes with Spark.
DELTA_MODULE = ("io.delta", "delta-spark_4.2_2.13", "4.4.0")
DELTA: Mapping[str, str] = {
    "delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "delta-kernel-defaults-4.4.0.jar": "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "delta-kernel-unitycatalog-4.4.0.jar": "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "unitycatalog-client-0.6.0.jar": "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    "unitycatalog-hadoop-0.6.0.jar": "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
}


def delta_jars() -> list[Path]:
    """Delta's jars, fetched first where they are not there (once, 95 MB); raises NotInstalled."""
    return jars(DELTA_MODULE, DELTA)


def jars(module: tuple[str, str, str], hashes: Mapping[str, str]) -> list[Path]:
    """The jars that `hashes` names, out of what a module needs."""
    folder = cache_folder() / "jars" / f"{module[1]}-{module[2]}"
    if not folder.exists():
        _fetch(module, hashes, folder)
    return [_checked(folder / name, known) for name, known in hashes.items()]


def _fetch(module: tuple[str, str, str], hashes: Mapping[str, str], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="fetch-", dir=folder.parent))
    try:
        command = [str(java_home() / "bin" / "java"), "-jar", str(_ivy()), "-cache", str(scratch / "ivy")]
        command += ["-dependency", *module, "-confs", "default", "-types", "jar", "bundle"]
        command += ["-retrieve", str(scratch / "jars" / "[artifact]-[revision](-[classifier]).[ext]")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
        if done.returncode:
            raise NotInstalled(f"fetching {':'.join(module)} failed: {(done.stdout + done.stderr).strip()[-1500:]}")
        for path in (scratch / "jars").iterdir():
            if path.name not in hashes:
                path.unlink()
        for name, known in hashes.items():
            _checked(scratch / "jars" / name, known)
        if not folder.exists():
            os.replace(scratch / "jars", folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _ivy() -> Path:
    spec = find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not found:
        raise NotInstalled("PySpark brings the program that fetches jars, and it is not installed: tailrace[spark]")
    return found[0]


def _checked(path: Path, known: str) -> Path:
    if not path.exists():
        raise NotInstalled(f"{path} is missing; remove its folder, and it is fetched again")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != known:
        raise NotInstalled(f"{path} has the hash {found}, not {known}: it is not what was pinned")
    return path
