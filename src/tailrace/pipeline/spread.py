"""The spread: a cut whose changes have to meet before they are written, as a job of two stages.

    feed      pull -> split -> segments by route          as many tasks as there are slots
              Spark shuffles the segments by route and sorts them by where they begin
    settle    in order -> write -> receipt                one writer a route, over all tables

A cut that is small enough for one task goes the same way inside of that task, and nothing is shuffled.

Guarantees: *a route writes all of its changes or nothing counts*: each feed ends with a word to every route of how many
rows it sent, and a route that lacks a word, or a row, or hears that a feed failed, writes nothing more and answers with
an error. *The order of arrival means nothing*: what a route writes is sorted by what the changes say of themselves.
*Attempts are alike*: a row's route depends on the row alone, or on all changes of its table in the cut, so it does not
matter which attempts of the feeds a route hears. Two attempts of a route may write at once: that only one counts is the
sink's part, as with any piece.
"""

from __future__ import annotations

import itertools
import math
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.errors import Overdue, WorkerLost, from_fields
from tailrace.observe.failpoints import reach
from tailrace.pipeline import worker
from tailrace.pipeline.carry import Order, StageClock, ahead, failed, log_changes, written
from tailrace.pipeline.hands import Hands
from tailrace.pipeline.segments import cut_segments, opened
from tailrace.pipeline.windows import windows
from tailrace.progress.cut import Reached, Receipt
from tailrace.sink.base import SinkWriter

TOGETHER_BYTES = 8 << 20
Carry = Callable[[Sequence[Order]], list[Receipt]]
Place = tuple[int, int, int, bytes]
_ENDED = -1


@dataclass(frozen=True, slots=True)
class Feed:
    """A piece that pulls: `targets` are the numbers of its cut's routes within the job."""

    number: int
    order: Order
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """A piece that is written: it waits for the word of all `feeds`; one route of a cut `speaks` for them."""

    number: int
    order: Order
    feeds: frozenset[int]
    speaks: bool


@dataclass(frozen=True, slots=True)
class Arrival:
    """A segment on its way, or, where its commit ts is -1, the last word of a feed."""

    target: int
    place: Place
    feed: int
    number: int
    data: bytes | pa.Buffer

    @property
    def last_word(self) -> bool:
        return self.place[0] == _ENDED

    @property
    def order(self) -> tuple[int, Place, int, int]:
        return self.target, self.place, self.feed, self.number


@dataclass(frozen=True, slots=True)
class Spread:
    """Cuts of one job, all their feeds and routes, numbered within the job."""

    feeds: tuple[Feed, ...]
    routes: Mapping[int, Route]

    @property
    def bytes(self) -> int:
        return sum(feed.order.piece.bytes for feed in self.feeds)


def spread_of(orders: Sequence[Order], numbers: Sequence[int]) -> Spread:
    """The spread of whole cuts; an order's number is how its receipt will be known."""
    cuts: dict[tuple[str, int, int], list[tuple[int, Order]]] = {}
    for number, order in zip(numbers, orders, strict=True):
        cuts.setdefault((order.piece.subscription, order.piece.epoch, order.piece.cut), []).append((number, order))
    feeds: list[Feed] = []
    routes: dict[int, Route] = {}
    for members in cuts.values():
        ends = sorted((m for m in members if not m[1].piece.feeds), key=lambda member: member[1].piece.route)
        targets = tuple(number for number, _ in ends)
        mine = [Feed(number, order, targets) for number, order in members if order.piece.feeds]
        heard = frozenset(feed.number for feed in mine)
        routes |= {number: Route(number, order, heard, number == targets[0]) for number, order in ends}
        feeds += mine
    return Spread(tuple(feeds), routes)


def divided(orders: Sequence[Order], plain: Carry, together: Callable[[Spread], dict[int, Receipt]]) -> list[Receipt]:
    """The receipts of all orders: of those whose changes meet from `together`, of all others from `plain`."""
    meeting = [number for number, order in enumerate(orders) if order.piece.routes]
    if not meeting:
        return plain(orders)
    spread = spread_of([orders[number] for number in meeting], meeting)
    others = [number for number, order in enumerate(orders) if not order.piece.routes]
    with ThreadPoolExecutor(1, thread_name_prefix="spread") as pool:
        meanwhile = pool.submit(together, spread)
        found = dict(zip(others, plain([orders[number] for number in others]), strict=True)) if others else {}
        found |= meanwhile.result()
    return [found[number] for number in range(len(orders))]


def by_size(spread: Spread) -> tuple[list[Spread], Spread]:
    """The cuts that are small enough for one task, each alone, and all others together."""
    small: list[Spread] = []
    feeds: list[Feed] = []
    routes: dict[int, Route] = {}
    for targets, members in itertools.groupby(spread.feeds, key=lambda feed: feed.targets):
        cut = Spread(tuple(members), {number: spread.routes[number] for number in targets})
        if cut.bytes <= TOGETHER_BYTES:
            small.append(cut)
        else:
            feeds += cut.feeds
            routes |= cut.routes
    return small, Spread(tuple(feeds), routes)


def carry_here(spread: Spread, patience: float = math.inf) -> dict[int, Receipt]:
    """Both stages in this task, without a shuffle, but for what takes too long (`hands`)."""
    sent: dict[int, list[Arrival]] = {}
    ends = list(spread.routes.values())

    def pull(at: int, gone: threading.Event) -> Receipt:
        sent[at] = list(feed(spread.feeds[at]))
        return _word(sent[at][-1])[0]

    pulled = Hands([each.order for each in spread.feeds], patience, pull).receipts()
    arrived = sorted((arrival for at in list(sent) for arrival in sent[at]), key=lambda arrival: arrival.order)
    of_route = {target: list(mine) for target, mine in itertools.groupby(arrived, key=lambda arrival: arrival.target)}

    def write(at: int, gone: threading.Event) -> Receipt:
        return _end(ends[at], *_heard(iter(of_route.get(ends[at].number, ()))), gone)

    written = Hands([each.order for each in ends], patience, write).receipts()
    fed = zip((each.number for each in spread.feeds), pulled, strict=True)
    return dict(fed) | dict(zip((each.number for each in ends), written, strict=True))


def feed(task: Feed) -> Iterator[Arrival]:
    """The segments of a piece, each to its route, then the last word to every route; never raises."""
    clock, piece = StageClock(), task.order.piece
    sent = dict.fromkeys(task.targets, 0)
    try:
        upstream, sink = worker.upstreams.get(task.order.upstream), worker.sinks.get(task.order.sink)
        changes = ahead(lambda: log_changes(upstream, sink, piece, clock))
        segments = cut_segments(changes, len(task.targets), piece.whole)
        for number in itertools.count():
            with clock.stage("segment"):
                segment = next(segments, None)
            if segment is None:
                break
            target = task.targets[segment.route]
            sent[target] += segment.rows
            yield Arrival(target, segment.place, task.number, number, segment.data)
        receipt = Receipt(piece.number, seconds=clock.seconds)
    except Exception as error:
        receipt = failed(piece, error)
    for target, rows in sent.items():
        yield Arrival(target, (_ENDED, 0, 0, b""), task.number, 0, pickle.dumps((receipt, rows), protocol=5))


def settle(routes: Mapping[int, Route], arrivals: Iterable[Arrival]) -> Iterator[tuple[int, Receipt]]:
    """The receipts of the routes for which something arrived, and of the feeds of cuts that one of them speaks for.
    Arrivals come in their order; that of a route's last words is before its segments."""
    for target, mine in itertools.groupby(arrivals, key=lambda arrival: arrival.target):
        route = routes[target]
        words, segments = _heard(mine)
        if route.speaks:
            yield from ((number, receipt) for number, (receipt, _) in words.items())
        yield target, _end(route, words, segments, threading.Event())


def _word(arrival: Arrival) -> tuple[Receipt, int]:
    """What a feed said last: its receipt, and how many rows it sent to the route."""
    said: tuple[Receipt, int] = pickle.loads(arrival.data)
    return said


def _heard(arrivals: Iterator[Arrival]) -> tuple[dict[int, tuple[Receipt, int]], Iterator[Arrival]]:
    """The last words, which come first, by feed; and everything after them."""
    words: dict[int, tuple[Receipt, int]] = {}
    for arrival in arrivals:
        if not arrival.last_word:
            return words, itertools.chain([arrival], arrivals)
        words[arrival.feed] = _word(arrival)
    return words, iter(())


def _end(
    route: Route, words: Mapping[int, tuple[Receipt, int]], segments: Iterator[Arrival], gone: threading.Event
) -> Receipt:
    """The receipt of a route; never raises."""
    try:
        return _settled(route, words, (opened(each.data) for each in segments), gone)
    except Exception as error:
        return failed(route.order.piece, error)


def _settled(
    route: Route, words: Mapping[int, tuple[Receipt, int]], segments: Iterator[ChangeBatch], gone: threading.Event
) -> Receipt:
    if route.feeds != words.keys():
        raise WorkerLost(f"{len(route.feeds - words.keys())} of {len(route.feeds)} feeds said nothing to a route")
    for receipt, _ in words.values():
        if receipt.error:
            raise from_fields(receipt.error)
    clock, due = StageClock(), sum(rows for _, rows in words.values())

    def fill(writer: SinkWriter) -> tuple[Reached, ...]:
        batches, rows = windows(segments), 0
        reach("piece-before-write")
        while True:
            if gone.is_set():
                raise Overdue("nobody waits for this attempt any more")
            with clock.stage("settle"):
                batch = next(batches, None)
            if batch is None:
                break
            rows += batch.num_rows
            with clock.stage("write"):
                writer.write(batch)
        if rows != due:
            raise WorkerLost(f"{rows} rows arrived at a route to which {due} were sent")
        return ()

    return written(worker.sinks.get(route.order.sink), route.order.piece, fill, clock)
