"""The report of a bench: keys are checked, ratios are to a limit of the same run, and JSON holds both."""

import json
from pathlib import Path

import pytest

from bench.report import PeakMemory, Report, best_seconds


def test_figures_are_saved_with_their_ratios(tmp_path: Path) -> None:
    report = Report("codecs")
    report.limit("copy", 200.0)
    report.add("csv.encode.narrow.rows_per_s", 50.0, "copy")
    report.save(tmp_path / "f.json")
    document = json.loads((tmp_path / "f.json").read_text())
    assert document["figures"] == {"limit.copy": 200.0, "csv.encode.narrow.rows_per_s": 50.0}
    assert document["ratios"] == {"csv.encode.narrow.rows_per_s": 0.25}
    assert "0.250" in report.table()


@pytest.mark.parametrize("key", ["csv", "csv.Encode.x", "csv-old.encode", "csv..x"])
def test_a_key_in_another_form_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="lower-case words"):
        Report("x").add(key, 1.0)


def test_a_figure_stands_there_once_and_needs_its_limit() -> None:
    report = Report("x")
    report.add("a.b", 1.0)
    with pytest.raises(ValueError, match="there already"):
        report.add("a.b", 2.0)
    with pytest.raises(KeyError):
        report.add("a.c", 2.0, "nothing_measured")


def test_the_best_of_several_calls_counts() -> None:
    calls: list[int] = []
    assert best_seconds(lambda: calls.append(1), budget=0.0, least=4) < 1
    assert len(calls) == 5


def test_memory_that_was_held_for_a_moment_is_seen() -> None:
    with PeakMemory(every=0.001) as idle:
        pass
    with PeakMemory(every=0.001) as busy:
        held = bytearray(b"x") * (64 << 20)
        del held
    assert busy.bytes > idle.bytes
