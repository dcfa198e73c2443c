"""The shipment: this very package as one file that Spark brings to the executors of a cluster.

Guarantees: equal sources give an equal file of an equal name, whose end is their fingerprint; it is made whole or not
at all. Only this package travels: the interpreter with what the package needs (pyarrow, gRPC, clients of sinks) has to
be on the machines, or in an archive that Spark brings. A local Spark needs no shipment.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import tailrace
from tailrace.pipeline.java import cache_folder

_BIRTH = (1980, 1, 1, 0, 0, 0)


def sources(package: str = "tailrace") -> list[tuple[str, bytes]]:
    """Every Python file of the package by its path, in order, wherever it was installed."""
    return sorted((f"{package}/{path}", text) for path, text in _walk(files(package), ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield prefix + entry.name, entry.read_bytes()


def fingerprint(of: list[tuple[str, bytes]]) -> str:
    """Twelve letters that differ where any file does."""
    hashed = hashlib.sha256()
    for path, text in of:
        hashed.update(f"{path}\0{len(text)}\0".encode() + text)
    return hashed.hexdigest()[:12]


def shipment() -> Path:
    """The file to ship, written into the cache when it is not there yet."""
    found = sources()
    target = cache_folder() / "shipment" / f"tailrace-{tailrace.__version__}-{fingerprint(found)}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f"{target.name}.{os.getpid()}")
        fresh.write_bytes(_packed(found))
        os.replace(fresh, target)
    return target


def _packed(found: list[tuple[str, bytes]]) -> bytes:
    whole = io.BytesIO()
    folders = {path[: path.rindex("/") + 1] for path, _ in found}
    with zipfile.ZipFile(whole, "w") as archive:
        # A room without an `__init__` is only found where the archive names the folder itself.
        for folder in sorted(folders):
            archive.writestr(zipfile.ZipInfo(folder, _BIRTH), b"")
        for path, text in found:
            archive.writestr(zipfile.ZipInfo(path, _BIRTH), text, zipfile.ZIP_DEFLATED)
    return whole.getvalue()
