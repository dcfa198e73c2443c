"""A component starts once, is found again, stops for good, and a stranger's process is never ended."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from tailrace.errors import SinkAway
from tailrace.testing.services import daemon
from tailrace.testing.services.component import Command, Component, Place, Tell

SERVE = """
import http.server, os, sys
print("serving", os.environ["SECRET"], flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def _install(folder: Path, tell: Tell) -> Path:
    tell("installing")
    return Path(sys.executable)


def _command(program: Path, place: Place) -> Command:
    return Command((str(program), "-c", SERVE, str(place.port)), {"SECRET": place.secret})


def _ready(place: Place) -> bool:
    try:
        urllib.request.urlopen(f"http://{place.address}/", timeout=2).close()
    except OSError:
        return False
    return True


WEB = Component("web", "a web server", _install, _command, _ready)
BROKEN = Component(
    "broken",
    "a program that ends",
    _install,
    lambda program, place: Command((str(program), "-c", "print('I cannot go on')")),
    lambda place: False,
)
MUTE = Component(
    "mute",
    "a program that never answers",
    _install,
    lambda program, place: Command((str(program), "-c", "import time; time.sleep(600)")),
    lambda place: False,
    patience=0.3,
)


def quiet(text: str) -> None:
    assert text == "installing"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_it_starts_once_is_found_and_stops() -> None:
    assert daemon.find(WEB) is None
    place = daemon.up(WEB, quiet)
    try:
        assert daemon.up(WEB, quiet) == place
        assert daemon.find(WEB) == place
        assert place.secret in (place.folder / "log").read_text()
    finally:
        assert daemon.down(WEB)
    assert daemon.find(WEB) is None
    assert not _ready(place)
    assert not daemon.down(WEB)


def test_it_holds_no_lock_and_no_pipe_of_whoever_started_it(tmp_path: Path) -> None:
    mine = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(mine, fcntl.LOCK_EX)
        os.set_inheritable(mine, True)
        daemon.up(WEB, quiet)
    finally:
        os.close(mine)
    try:
        with (tmp_path / "lock").open() as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        daemon.down(WEB)


def test_its_state_is_readable_by_its_owner_only() -> None:
    place = daemon.up(WEB, quiet)
    try:
        assert (place.folder / "state.json").stat().st_mode & 0o077 == 0
        assert place.secret not in repr(place)
    finally:
        daemon.down(WEB)


def test_a_start_that_fails_shows_the_log() -> None:
    with pytest.raises(SinkAway, match="I cannot go on"):
        daemon.up(BROKEN, quiet)
    assert daemon.find(BROKEN) is None


def test_a_start_that_never_answers_leaves_nothing_running() -> None:
    with pytest.raises(SinkAway, match="did not answer"):
        daemon.up(MUTE, quiet)
    living = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    assert not [child for child in living if "time.sleep(600)" in child.cmdline()]


def test_a_process_that_got_the_number_later_is_a_stranger() -> None:
    folder = daemon.folder_of(WEB)
    folder.mkdir(parents=True)
    state = {"pid": os.getpid(), "born": psutil.Process().create_time() - 60, "port": 1, "secret": "s"}
    (folder / "state.json").write_text(json.dumps(state))
    assert daemon.find(WEB) is None
    assert not daemon.down(WEB)


def test_what_a_test_left_is_gone_at_the_next_start() -> None:
    left = daemon.folder_of(WEB) / "data" / "bucket"
    left.mkdir(parents=True)
    daemon.up(WEB, quiet)
    daemon.down(WEB)
    assert not left.exists()


@pytest.mark.parametrize("text", ["", "{", '{"pid": 1}', "[]"])
def test_a_state_that_cannot_be_read_is_no_state(text: str) -> None:
    folder = daemon.folder_of(WEB)
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(text)
    assert daemon.find(WEB) is None
