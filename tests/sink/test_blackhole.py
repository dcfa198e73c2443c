"""The blackhole keeps counts of what was committed, and nothing of what was not."""

from __future__ import annotations

import pytest

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.errors import Fenced
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.sink.blackhole import BlackholeSink, Committed
from tests.sink.storage.folders import batch, table, ts
from tests.sink.storage.seats import Ledger

PIECE = Piece("s", 1, 1, 0, "log", 100, 0, (), 0, ts(9))


def test_what_is_committed_is_counted_once() -> None:
    sink, ledger = BlackholeSink(SinkSpec("s", "blackhole://")), Ledger()
    sink.open(ledger.seat())
    assert sink.verify() == []
    written = []
    for commits in ([ts(1), ts(2)], [ts(3)], []):
        writer = sink.writer(PIECE)
        writer.write(batch(table(), commits))
        written.append(writer.close())
    lost = sink.writer(PIECE)
    lost.write(batch(table(), [ts(5)]))
    lost.discard()
    receipts = [Receipt(n, each.rows, each.bytes, each.payload) for n, each in enumerate(written)]
    cut = Cut("s", 1, 1, "log", 0, ts(9))
    sink.commit(cut, [*receipts, receipts[0]])
    sink.ddl([DdlEvent(ts(9), ts(8), 0, DdlType.CREATE_SCHEMA, "CREATE DATABASE x", "x")])
    sink.advance(ts(9))
    size = sum(each.bytes for each in written)
    assert size > 0
    assert sink.committed == Committed(rows=3, bytes=size, cuts=1, commit_ts=ts(3), advanced=ts(9), ddl=1)
    assert lost.close().rows == 0


def test_an_owner_that_lost_its_seat_commits_nothing() -> None:
    sink, ledger = BlackholeSink(SinkSpec("s", "blackhole://")), Ledger()
    sink.open(ledger.seat())
    ledger.seat()
    with pytest.raises(Fenced):
        sink.commit(Cut("s", 1, 1, "log", 0, ts(9)), [])
    assert sink.committed == Committed()
    sink.close()


def test_it_asks_for_routes_only_where_it_is_told_to() -> None:
    assert BlackholeSink(SinkSpec("s", "blackhole://h/?x=1")).capabilities.routes == 0
    sink = BlackholeSink(SinkSpec("s", "blackhole://?routes=4"))
    assert (sink.capabilities.routes, sink.capabilities.split_updates, sink.verify()) == (4, True, [])
    wrong = BlackholeSink(SinkSpec("s", "blackhole://?routes=many"))
    assert [problem.key for problem in wrong.verify()] == ["routes"]


def test_pieces_that_only_fed_routes_are_no_rows() -> None:
    sink, ledger = BlackholeSink(SinkSpec("s", "blackhole://?routes=1")), Ledger()
    sink.open(ledger.seat())
    writer = sink.writer(PIECE)
    writer.write(batch(table(), [ts(1)]))
    written = writer.close()
    cut = Cut("s", 1, 1, "log", 0, ts(9))
    sink.commit(cut, [Receipt(0), Receipt(1), Receipt(2, written.rows, written.bytes, written.payload)])
    assert (sink.committed.rows, sink.committed.cuts) == (1, 1)
