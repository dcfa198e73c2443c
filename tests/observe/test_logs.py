"""Logs: one line an event, machine-readable, and never a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tailrace.config import Secret
from tailrace.observe import names
from tailrace.observe.logs import Format, say, set_up


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("tailrace")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def logged(form: Format = "json") -> tuple[io.StringIO, logging.Logger]:
    stream = io.StringIO()
    set_up(stream, form)
    return stream, logging.getLogger("tailrace.server.test")


def test_an_event_is_one_json_object_on_one_line() -> None:
    stream, logger = logged()
    say(logger, logging.INFO, names.CLAIMED, subscription="orders", epoch=3, reason="a\nb")
    assert stream.getvalue().count("\n") == 1
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "tailrace.server.test",
        "event": "claimed",
        "subscription": "orders",
        "epoch": 3,
        "reason": "a\nb",
    }


def test_the_same_event_as_text_is_one_line_too() -> None:
    stream, logger = logged("text")
    say(logger, logging.WARNING, names.CLAIM_LOST, subscription="orders", reason="a\nb")
    assert stream.getvalue().endswith('WARNING claim-lost subscription="orders" reason="a\\nb"\n')


def test_an_event_that_is_not_in_names_is_a_fault() -> None:
    with pytest.raises(ValueError, match=r"observe\.names"):
        say(logging.getLogger("tailrace"), logging.INFO, "made-up")


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_secret_reaches_a_line_whoever_logs_it(form: Format) -> None:
    stream, logger = logged(form)
    uri = "mysql://root:hunter2@db:3306/?password=hunter3"
    say(logger, logging.INFO, names.SUBSCRIBED, sink=uri)
    logger.warning("cannot reach %s\nwith %s", uri, Secret("hunter4"))
    logging.getLogger("somebody.else").warning("retrying %s", uri)
    try:
        raise ValueError(f"bad {uri}")
    except ValueError:
        logger.exception("failed")
    assert stream.getvalue().count("\n") == 4
    assert "hunter" not in stream.getvalue()
    assert "root" in stream.getvalue()


def test_other_libraries_are_heard_from_warnings_on() -> None:
    stream, logger = logged()
    logging.getLogger("somebody.else").info("chatter")
    logger.info("a line of ours")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["a line of ours"]
