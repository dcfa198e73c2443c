"""The environment of a child process that runs this very package, installed or not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import tailrace


def package_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, with the package's source on the path, and what is added."""
    source = str(Path(tailrace.__file__).parents[1])
    paths = [source, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))} | dict(more or {})
