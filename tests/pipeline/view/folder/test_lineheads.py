"""Line heads: rows of canal-json are found from anywhere in a text, whatever their values hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.tso import compose, physical_ms
from tailrace.codec.canal_json import CanalJsonEncoder, CanalJsonOptions
from tailrace.pipeline.view.folder.lineheads import LineHeads
from tests.pipeline.view.folders import Change, Folder, changes, orders
from tests.pipeline.view.reading import batch_rows, ids

START = compose(1_795_000_000_000, 7)
TRAPS = ['\r\n{"id":0', '"_tidb":{"commitTs":5', '"es":9', '"', "\\", "\r\n", "{", "}", "a", "é"]
VALUES = st.lists(st.sampled_from(TRAPS), max_size=5).map("".join)


@pytest.mark.parametrize("extended", [True, False])
@settings(max_examples=60, deadline=None)
@given(values=st.lists(VALUES, min_size=1, max_size=6))
def test_exactly_the_rows_are_found_from_any_place(extended: bool, values: list[str]) -> None:
    options = CanalJsonOptions(enable_tidb_extension=extended)
    encoder, text, places = CanalJsonEncoder(options), b"", []
    for at, value in enumerate(values):
        ts = START + (at << 18)
        places.append((len(text), ts if extended else compose(physical_ms(ts))))
        text += encoder.encode(changes(orders(), [("I", ts, (at, value))])).to_pybytes()
    heads = LineHeads(options)
    first = heads.first(text)
    assert first is not None and (first.offset, first.ts) == places[0]
    for begin in range(0, len(text), 7):
        found = [(begin + head.offset, head.ts) for head in heads.inside(text[begin:])]
        assert found == [place for place in places if place[0] >= begin + heads.ender_length]


def test_a_row_that_is_not_whole_does_not_count() -> None:
    text = CanalJsonEncoder(CanalJsonOptions(enable_tidb_extension=True)).encode(
        changes(orders(), [("I", START, (1, "x"))])
    )
    assert LineHeads(CanalJsonOptions(enable_tidb_extension=True)).first(text.to_pybytes()[:-1]) is None


@pytest.mark.parametrize("extended", [True, False])
def test_a_folder_of_canal_json_reads_as_one_of_csv(
    tmp_path: Path, extended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailrace.pipeline.view.folder.index._CLOSE", 512)
    monkeypatch.setattr("tailrace.pipeline.view.folder.origin._LEAST", 700)
    folder = Folder(tmp_path)
    table = folder.version(orders())
    encoder = CanalJsonEncoder(CanalJsonOptions(enable_tidb_extension=extended))
    rows: list[Change] = [("U", START + (at << 18), (at, "new"), (at, "old")) for at in range(60)]
    for number, begin in enumerate((0, 30), 1):
        data = encoder.encode(changes(table, rows[begin : begin + 30])).to_pybytes()
        folder.put(f"shop/orders/100/CDC{number:020d}.json", data)
    folder.checkpoint(START + (100 << 18))
    found = batch_rows(folder.path)
    assert [(row["_op"], row["id"], row["name"], row["_before"]["name"]) for row in found] == [
        ("U", at, "new", "old") for at in range(60)
    ]
    after, upto = str(START + (9 << 18)), str(START + (40 << 18))
    assert ids(batch_rows(folder.path, startTs=after, endTs=upto)) == list(range(10, 41))
