"""Filters that Spark pushes down: which commit ts they leave.

Only conditions on `_commit_ts` are looked at, and only to leave out what they exclude; Spark applies every filter
again, so nothing here can make a result wrong by knowing too little.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from tailrace.change.tso import MAX_TS
from tailrace.pipeline.view.mapping import COMMIT_TS
from tailrace.pipeline.view.origin import Span

_EVERYTHING = Span(0, MAX_TS)


def span_of(filters: Iterable[Filter]) -> Span:
    """The commit ts that all of the filters leave."""
    left = _EVERYTHING
    for each in filters:
        left = left.within(_left_by(each))
    return left


def _left_by(one: Filter) -> Span:
    if getattr(one, "attribute", None) != (COMMIT_TS,):
        return _EVERYTHING
    values = _numbers(getattr(one, "value", None))
    if not values:
        return _EVERYTHING
    low, high = min(values), max(values)
    if isinstance(one, EqualTo | EqualNullSafe | In):
        return Span(max(low - 1, 0), min(high, MAX_TS))
    if isinstance(one, GreaterThan | GreaterThanOrEqual):
        return Span(max(low - isinstance(one, GreaterThanOrEqual), 0), MAX_TS)
    if isinstance(one, LessThan | LessThanOrEqual):
        return Span(0, max(high - isinstance(one, LessThan), 0))
    return _EVERYTHING


def _numbers(value: object) -> list[int]:
    """The whole numbers of a literal or of a list of them; none where any is something else."""
    found = list(value) if isinstance(value, list | tuple) else [value]
    plain = [int(each) for each in found if isinstance(each, int) and not isinstance(each, bool)]
    return plain if len(plain) == len(found) else []
