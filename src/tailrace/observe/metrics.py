"""Metrics of this process: counted where something happens, shown when somebody asks.

    metrics.count(names.ROWS, 4096, subscription="orders")

Like logs they belong to the process: whoever counts needs nothing handed to it. Guarantees: a metric and its labels
are those of `names`, anything else is an error; at most `MOST_SUBSCRIPTIONS` values of `subscription` are told apart,
and the rest are counted together as `OTHERS`. Nothing may be decided by a metric.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tailrace.observe.names import METRICS, Metric

MOST_SUBSCRIPTIONS = 2_000
OTHERS = "(others)"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found of a metric that is read; `labels` in the order of the metric's."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


Source = Callable[[], Iterable[Reading]]


class Meter:
    """The metrics of `names` as one set of numbers. Safe to share between threads."""

    def __init__(self, most_subscriptions: int = MOST_SUBSCRIPTIONS) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        counted = [metric for metric in METRICS.values() if not metric.read]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        registry = self._registry
        self._counters = {m: Counter(m.name, m.help, m.labels, registry=registry) for m in _of(counted, "counter")}
        self._gauges = {m: Gauge(m.name, m.help, m.labels, registry=registry) for m in _of(counted, "gauge")}
        self._histograms = {
            m: Histogram(m.name, m.help, m.labels, buckets=m.buckets, registry=registry)
            for m in _of(counted, "histogram")
        }
        self._most = most_subscriptions
        self._lock = threading.Lock()
        self._subscriptions: set[str] = set()
        self._missing: set[str] = set()

    def count(self, metric: Metric, amount: float = 1.0, **labels: str) -> None:
        counter = self._counters[metric]
        (counter.labels(**self._bounded(labels)) if labels else counter).inc(amount)

    def change(self, metric: Metric, by: float, **labels: str) -> None:
        gauge = self._gauges[metric]
        (gauge.labels(**self._bounded(labels)) if labels else gauge).inc(by)

    def show(self, metric: Metric, value: float, **labels: str) -> None:
        gauge = self._gauges[metric]
        (gauge.labels(**self._bounded(labels)) if labels else gauge).set(value)

    def time(self, metric: Metric, seconds: float, **labels: str) -> None:
        histogram = self._histograms[metric]
        (histogram.labels(**self._bounded(labels)) if labels else histogram).observe(seconds)

    def keep(self, subscriptions: Collection[str]) -> None:
        """Forget what was counted of those that are missing for the second time in a row: they are gone, and not
        only so new that whoever asks has not heard of them."""
        with self._lock:
            missing = self._subscriptions.difference(subscriptions)
            gone = missing & self._missing
            self._missing = missing - gone
            self._subscriptions -= gone
        for metric, instrument in (*self._counters.items(), *self._gauges.items(), *self._histograms.items()):
            if "subscription" in metric.labels:
                for name in gone:
                    instrument.remove_by_labels({"subscription": name})

    def exposition(self, sources: Iterable[Source] = ()) -> bytes:
        """Everything in Prometheus' text format: what was counted, then what the sources find now."""
        read = CollectorRegistry()
        read.register(_Readings(list(self._folded(reading for source in sources for reading in source()))))
        return generate_latest(self._registry) + generate_latest(read)

    def _bounded(self, labels: dict[str, str]) -> dict[str, str]:
        name = labels.get("subscription")
        return labels if name is None else labels | {"subscription": self._own(name)}

    def _own(self, subscription: str) -> str:
        with self._lock:
            if subscription not in self._subscriptions and len(self._subscriptions) >= self._most:
                return OTHERS
            self._subscriptions.add(subscription)
        return subscription

    def _folded(self, readings: Iterable[Reading]) -> Iterator[Reading]:
        """Of those that share a label, the largest value: it is the one to worry about."""
        largest: dict[tuple[Metric, tuple[str, ...]], float] = {}
        for each in readings:
            bounded = self._bounded(dict(zip(each.metric.labels, each.labels, strict=True)))
            key = (each.metric, tuple(bounded.values()))
            largest[key] = max(each.value, largest.get(key, each.value))
        return (Reading(metric, value, labels) for (metric, labels), value in largest.items())


class _Readings(Collector):
    def __init__(self, readings: list[Reading]) -> None:
        self._readings = readings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        families: dict[Metric, GaugeMetricFamily] = {}
        for each in self._readings:
            family = families.get(each.metric)
            if family is None:
                family = families[each.metric] = GaugeMetricFamily(
                    each.metric.name, each.metric.help, labels=each.metric.labels
                )
            family.add_metric(each.labels, each.value)
        yield from families.values()


def _of(metrics: Iterable[Metric], kind: str) -> list[Metric]:
    return [metric for metric in metrics if metric.kind == kind]


METER = Meter()
count, change, show, time = METER.count, METER.change, METER.show, METER.time
