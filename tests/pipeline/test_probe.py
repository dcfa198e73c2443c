"""A cluster that cannot run our pieces says so before the first piece: without what we need, with another version
of it, without memory."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import tailrace
from tailrace.errors import ClusterUnfit
from tailrace.pipeline.job import SparkRunner
from tailrace.pipeline.session import SessionOptions
from tailrace.testing.services import connection

pytestmark = [pytest.mark.spark, pytest.mark.service("spark")]


def refusal(conf: dict[str, str], seconds: float = 60.0) -> str:
    runner = SparkRunner(SessionOptions(connection("spark").master, conf=conf, start_seconds=seconds))
    try:
        with pytest.raises(ClusterUnfit) as raised:
            runner.open()
    finally:
        runner.close()
    return str(raised.value)


def interpreter(folder: Path, line: str) -> str:
    """A Python of the workers' own: this one, started in another way."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\n{line}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_workers_with_another_version_of_the_package_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other" / "tailrace"
    shutil.copytree(os.path.dirname(tailrace.__file__), other)
    (other / "__init__.py").write_text('"""Another."""\n__version__ = "0.0.9"\n')
    python = interpreter(tmp_path, f'export PYTHONPATH="{other.parent}:$PYTHONPATH"')
    said = refusal({"spark.pyspark.python": python})
    assert "tailrace 0.0.9" in said
    assert str(other) in said


def test_workers_whose_python_lacks_what_we_need_are_refused(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked" / "pyarrow"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')\n")
    said = refusal({"spark.pyspark.python": interpreter(tmp_path, f'export PYTHONPATH="{blocked.parent}:$PYTHONPATH"')})
    assert "pyarrow" in said
    assert "spark.pyspark.python" in said


def test_a_worker_without_the_memory_that_was_asked_for_is_said() -> None:
    said = refusal({"spark.executor.memory": "64g"}, seconds=8.0)
    assert "64g" in said
    assert "spark.executor.memory" in said
