"""What is shipped is the whole package: it is imported from the one file, and its name differs where any file does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.pipeline.shipment import fingerprint, shipment, sources


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_every_room_is_imported_from_the_one_file() -> None:
    rooms = ("pipeline.carry", "sink.storage.sink", "upstream.dataserver.client", "codec.csv.encode")
    script = f"import sys; sys.path.insert(0, {str(shipment())!r})\n"
    script += "".join(f"import tailrace.{room}; print(tailrace.{room}.__file__)\n" for room in rooms)
    said = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"{shipment()}/tailrace/{room.replace('.', '/')}.py" for room in rooms]


def test_the_same_sources_give_the_same_file() -> None:
    first = shipment()
    text = first.read_bytes()
    first.unlink()
    assert shipment() == first
    assert first.read_bytes() == text
    assert [path for path in first.parent.iterdir() if path != first] == []


def test_a_file_more_or_a_letter_less_is_another_fingerprint() -> None:
    found = sources()
    changed = [(path, text[:-1] if path.endswith("batch.py") else text) for path, text in found]
    moved = [(path.replace("batch.py", "batches.py"), text) for path, text in found]
    assert len({fingerprint(each) for each in (found, found[1:], changed, moved)}) == 4
