"""Filters that are pushed down leave out only what they exclude."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from tailrace.change.tso import MAX_TS
from tailrace.pipeline.view.filters import span_of
from tailrace.pipeline.view.origin import Span

TS = ("_commit_ts",)


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ([], Span(0, MAX_TS)),
        ([GreaterThan(TS, 10), LessThanOrEqual(TS, 20)], Span(10, 20)),
        ([GreaterThanOrEqual(TS, 10), LessThan(TS, 20)], Span(9, 19)),
        ([EqualTo(TS, 7)], Span(6, 7)),
        ([In(TS, (9, 3, 5))], Span(2, 9)),
        ([EqualTo(TS, 7), EqualTo(TS, 9)], Span(8, 7)),
        ([IsNotNull(TS), GreaterThan(("id",), 10)], Span(0, MAX_TS)),
        ([Not(EqualTo(TS, 7))], Span(0, MAX_TS)),
        ([EqualTo(TS, "7")], Span(0, MAX_TS)),
        ([LessThan(TS, -5)], Span(0, 0)),
        ([EqualTo(("_before", "_commit_ts"), 7)], Span(0, MAX_TS)),
    ],
)
def test_conditions_on_the_commit_ts_become_a_span(filters: list[Filter], wanted: Span) -> None:
    assert span_of(filters) == wanted
