"""What is counted is shown, in a form that Prometheus' own parser reads, with labels that stay bounded."""

from __future__ import annotations

import pytest

from tailrace.observe import names
from tailrace.observe.metrics import OTHERS, Meter, Reading
from tailrace.observe.names import METRICS, Metric
from tests.observe.shown import everything, samples


def test_what_is_counted_is_shown() -> None:
    meter = Meter()
    for rows in (1, 4096):
        meter.count(names.ROWS, rows, subscription="orders")
    meter.change(names.JOBS_RUNNING, 2)
    meter.change(names.JOBS_RUNNING, -1)
    meter.show(names.PIECES_ON_PROBATION, 7)
    meter.time(names.JOB_SECONDS, 0.15, result="done")
    found = samples(meter.exposition([lambda: [Reading(names.META_UP, 1), Reading(names.DELIVERED_LAG, 2.5, ("a",))]]))
    assert found["tailrace_rows_total", (("subscription", "orders"),)] == 4097
    assert found["tailrace_jobs_running", ()] == 1
    assert found["tailrace_pieces_on_probation", ()] == 7
    assert found["tailrace_job_seconds_bucket", (("le", "0.2"), ("result", "done"))] == 1
    assert found["tailrace_job_seconds_bucket", (("le", "0.1"), ("result", "done"))] == 0
    assert found["tailrace_job_seconds_count", (("result", "done"),)] == 1
    assert found["tailrace_meta_up", ()] == 1
    assert found["tailrace_delivered_lag_seconds", (("subscription", "a"),)] == 2.5


def test_every_name_can_be_shown_and_nothing_else_is() -> None:
    ours = {name for name, _ in samples(everything()) if not name.startswith("process_")}
    assert ours == {series for metric in METRICS.values() for series in metric.series}


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_a_name_says_what_it_is(metric: Metric) -> None:
    assert metric.name.startswith("tailrace_")
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".") and "\n" not in metric.help
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert not metric.read or metric.kind == "gauge"
    assert set(metric.labels) <= {"subscription", "state", "code", "stage", "step", "event", "result", "version"}


def test_labels_of_others_than_the_names_are_refused() -> None:
    meter = Meter()
    with pytest.raises(ValueError, match="label"):
        meter.count(names.ROWS, table="t", subscription="s")
    with pytest.raises(KeyError):
        meter.count(names.JOBS_RUNNING)


def test_what_comes_after_the_most_subscriptions_is_counted_together() -> None:
    meter = Meter(most_subscriptions=2)
    for at in range(100):
        meter.count(names.ROWS, 1, subscription=f"s{at}")
    lags = [Reading(names.DELIVERED_LAG, float(at), (f"s{at}",)) for at in range(100)]
    found = samples(meter.exposition([lambda: lags]))
    rows = {labels[0][1]: value for (name, labels), value in found.items() if name == "tailrace_rows_total"}
    seconds = {labels[0][1]: value for (name, labels), value in found.items() if name == names.DELIVERED_LAG.name}
    assert rows == {"s0": 1, "s1": 1, OTHERS: 98}
    assert seconds == {"s0": 0, "s1": 1, OTHERS: 99}


def test_what_is_gone_is_forgotten_and_makes_room() -> None:
    meter = Meter(most_subscriptions=2)
    for name in ("a", "b"):
        meter.count(names.ERRORS, subscription=name, code="TR-4101")
        meter.count(names.PIECE_SECONDS, 1, subscription=name, stage="pull")
    meter.keep(["b"])
    assert ("tailrace_piece_seconds_total", (("stage", "pull"), ("subscription", "a"))) in samples(meter.exposition())
    meter.keep(["b"])
    meter.count(names.ROWS, 1, subscription="c")
    found = {labels for name, labels in samples(meter.exposition()) if ("subscription", "a") in labels}
    assert found == set()
    assert ("tailrace_rows_total", (("subscription", "c"),)) in samples(meter.exposition())
