"""What a meter shows, read back, and a meter that shows everything there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from tailrace.observe.metrics import Meter, Reading
from tailrace.observe.names import METRICS

Samples = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: bytes) -> Samples:
    """Every sample by name and labels; the parser is the official one."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


def everything() -> bytes:
    """An exposition with a sample of every metric of `names`, with labels that want escaping."""
    meter, readings = Meter(), []
    for metric in METRICS.values():
        labels = dict.fromkeys(metric.labels, 'a "quoted" \\ value\nof two lines')
        if metric.read:
            readings.append(Reading(metric, 1.0, tuple(labels.values())))
        else:
            counting: dict[str, Callable[..., None]]
            counting = {"counter": meter.count, "gauge": meter.show, "histogram": meter.time}
            counting[metric.kind](metric, 1.0, **labels)
    return meter.exposition([lambda: readings])
