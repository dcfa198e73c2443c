"""History: pages in commit order, buckets that add up, and no silence about what was pruned."""

from __future__ import annotations

import random

from tailrace.dataserver.history import MAX_BUCKETS, History, Page
from tailrace.dataserver.wal import Form, Place


def page(commit_ts: int, rows: int = 1, step: int = 0, segment: int = 1, start_ts: int = 0) -> Page:
    place = Place(segment, commit_ts * 100, 10 * rows)
    return Page(commit_ts, start_ts or commit_ts - 1, commit_ts, 1, rows, Form.FLAT, step, place)


def test_pages_that_come_out_of_order_are_in_commit_order() -> None:
    history = History()
    times = list(range(10, 500, 3))
    random.Random(1).shuffle(times)
    for ts in times:
        history.add(page(ts))
    assert history.span(0, 1000)["commit_ts"].tolist() == sorted(times)


def test_a_span_is_open_below_and_closed_above() -> None:
    history = History()
    for ts in (10, 20, 30):
        history.add(page(ts))
    assert history.span(10, 30)["commit_ts"].tolist() == [20, 30]
    assert history.span(30, 99).size == 0


def test_a_page_of_many_transactions_is_in_every_span_that_touches_it() -> None:
    history = History()
    history.add(page(100, rows=50, step=1))
    assert len(history.span(120, 130)) == 1
    assert len(history.span(149, 200)) == 0
    assert len(history.span(0, 99)) == 0
    assert history.buckets(0, 120)[0] == [120]


def test_buckets_are_few_ascending_and_add_up() -> None:
    history = History()
    for ts in range(1, 2001):
        history.add(page(ts, rows=ts % 5 + 1))
    times, rows, size = history.buckets(500, 1500)
    assert len(times) == MAX_BUCKETS and times == sorted(set(times)) and times[-1] == 1500 and times[0] > 500
    assert sum(rows) == sum(at % 5 + 1 for at in range(501, 1501))
    assert sum(size) == 10 * sum(rows)


def test_pages_of_one_transaction_are_one_bucket() -> None:
    history = History()
    for ts in (5, 5, 5, 6):
        history.add(page(ts))
    assert history.buckets(0, 10) == ([5, 6], [3, 1], [30, 10])


def test_a_transaction_is_found_by_its_start() -> None:
    history = History()
    history.add(page(10, start_ts=3))
    history.add(page(20, start_ts=12))
    assert history.written_by(3) == 10 and history.written_by(12) == 20 and history.written_by(4) == 0


def test_pruning_says_up_to_where_history_is_lost() -> None:
    history = History()
    for ts in range(1, 9):
        history.add(page(ts, segment=ts // 3))
    history.prune(1)
    assert (history.pruned_ts, history.pruned_index) == (5, 5)
    assert history.span(0, 99)["commit_ts"].tolist() == [6, 7, 8]


def test_the_first_index_above_counts_pages_that_are_not_resolved() -> None:
    history = History()
    history.add(page(30))
    history.add(page(10))
    assert history.first_index_above(20, 99) == 30
    assert history.first_index_above(30, 99) == 99
