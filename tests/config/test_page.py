"""The page on configuration knows every key and every parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tailrace.config import kafka, messages, storage
from tailrace.config.keys import ROOT, UNUSED, Kind, Tree

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`\[?([a-z0-9.-]+)\]?`", PAGE))
# Sections that have no effect at all are named as a whole.
WHOLE = {*UNUSED, "sink.mysql-config", "sink.pulsar-config"}


def _keys(tree: Tree, path: str = "") -> Iterator[str]:
    for name, below in tree.items():
        dotted = f"{path}.{name}".lstrip(".")
        if isinstance(below, Kind) or dotted in WHOLE:
            yield dotted if isinstance(below, dict) and path else name
        else:
            yield from _keys(below[0] if isinstance(below, list) else below, dotted)


def test_every_key_is_on_the_page() -> None:
    assert set(_keys(ROOT)) <= NAMED


def test_every_parameter_is_on_the_page() -> None:
    known = {name for scheme in storage.SCHEMES for name in storage.parameters(scheme)}
    assert known | {*kafka.PARAMETERS, *messages.PARAMETERS} <= NAMED
