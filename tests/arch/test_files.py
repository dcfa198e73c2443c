"""What no file of the project may hold: a place on one developer's machine, or the address of a registry."""

from __future__ import annotations

import functools

from tests.arch.tree import ROOT, tracked

# Written in parts, so that this file does not hold them either.
PRIVATE = ("/wo" + "rk/", ".." + "/shared")
_REGISTRIES = (
    *("pypi org", "test pypi org", "pythonhosted org", "repo1 maven org", "repo maven apache org", "mvnrepository com"),
    *("proxy golang org", "sum golang org", "registry npmjs org", "npmjs com", "crates io", "anaconda org"),
    *("docker io", "ghcr io", "quay io", "gcr io", "repos spark-packages org", "rubygems org", "debian org"),
)
REGISTRIES = tuple(name.replace(" ", ".") for name in _REGISTRIES)


@functools.cache
def _texts() -> list[tuple[str, str]]:
    found = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            found.append((path.relative_to(ROOT).as_posix(), data.decode("utf-8", "replace")))
    return found


def test_no_file_names_a_place_on_one_machine() -> None:
    wrong = [f"{name}: {place}" for name, text in _texts() for place in PRIVATE if place in text]
    assert wrong == []


def test_no_file_names_a_registry() -> None:
    wrong = [f"{name}: {host}" for name, text in _texts() for host in REGISTRIES if host in text]
    assert wrong == []


def test_the_lock_names_no_host_and_hashes_everything() -> None:
    lines = (ROOT / "requirements" / "dev.lock").read_text().splitlines()
    assert not [line for line in lines if "://" in line or line.startswith("-")]
    pinned = [line for line in lines if "==" in line and not line.startswith(" ")]
    assert len(pinned) > 20
    assert not [line for line in pinned if not line.endswith("\\")], "a pinned version without a hash"
