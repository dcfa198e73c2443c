"""What a real component is to this room: a program of an exact version that runs on loopback for tests.

A `Component` is data and three functions, so that one more of them is one more entry in `catalogue`. It never
listens on anything but 127.0.0.1, and never touches a program that was installed by somebody else. A `Tool` is a
program that is called and not left running.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one start of a component lives: a folder of its own, a free port, and a secret made for this start."""

    folder: Path
    port: int
    secret: str = field(repr=False)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True)
class Command:
    """How a component is started: absolute program, arguments, and what is added to the environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Component:
    """`install` puts the program below a folder and gives its path (at once where it is there); raises NotInstalled
    with what to do. `command` says how to start it, `ready` whether it answers. `patience` are the seconds that a
    start may take."""

    name: str
    what: str
    install: Callable[[Path, Tell], Path]
    command: Callable[[Path, Place], Command]
    ready: Callable[[Place], bool]
    patience: float = 30.0


@dataclass(frozen=True, slots=True)
class Tool:
    """`install` as a component's; `found` gives the program's path where it is there."""

    name: str
    what: str
    install: Callable[[Path, Tell], Path]
    found: Callable[[Path], Path | None]


def answers(url: str) -> bool:
    """Whether somebody answers there; that he refuses is an answer too."""
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except urllib.error.HTTPError as refused:
        refused.close()
    except OSError:
        return False
    return True
