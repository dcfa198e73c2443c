"""`metadata` and indexes cannot be fenced, so what a former owner changes late is put right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.sink.storage.metadata import Unfenced
from tailrace.store.local import LocalStore


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_metadata_is_ticdcs_text_and_never_falls(tmp_path: Path, clock: Clock) -> None:
    unfenced = Unfenced(LocalStore(str(tmp_path)), clock)
    for ts in (5, 450152555350851584, 7):
        unfenced.advance(ts)
    assert (tmp_path / "metadata").read_bytes() == b'{"checkpoint-ts":450152555350851584}'
    assert unfenced.advanced == 450152555350851584


def test_what_a_former_owner_changes_is_put_right_for_a_while(tmp_path: Path, clock: Clock) -> None:
    store = LocalStore(str(tmp_path))
    unfenced = Unfenced(store, clock)
    unfenced.advance(20)
    unfenced.write([("t/meta/CDC.index", b"CDC2\n")])

    def overwritten_late() -> tuple[bytes, bytes]:
        store.replace([("metadata", b"old"), ("t/meta/CDC.index", b"CDC1\n")])
        unfenced.look_again()
        return (tmp_path / "metadata").read_bytes(), (tmp_path / "t/meta/CDC.index").read_bytes()

    assert overwritten_late() == (b"old", b"CDC1\n")
    clock.now += 6
    assert overwritten_late() == (b'{"checkpoint-ts":20}', b"CDC2\n")
    (tmp_path / "metadata").unlink()
    clock.now += 6
    unfenced.look_again()
    assert (tmp_path / "metadata").exists()
    clock.now += 100
    assert overwritten_late() == (b"old", b"CDC1\n")
