"""The lookout: watches the frontiers of all ranges of an upstream, once for all subscriptions.

One long-poll for each leader, however many subscriptions there are: it asks for what lies above the newest that it has
shown, keeps that for as long as somebody may need it, and wakes those whose ranges have news. What an error concerns
is found out by asking for halves, so a range that is gone troubles only those who watch it.

Guarantees: what `look` shows is what `Upstream.frontier` and `ddl` would have answered a moment ago, for every watcher
from its own position on. Who is so far behind that this is not kept any more asks the upstream itself, in its own time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tailrace.change.ddl import DdlEvent
from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import TailraceError, UpstreamAway
from tailrace.pipeline.reach import Reach
from tailrace.pipeline.statements import Statements
from tailrace.upstream.base import Frontier, Mark, Upstream

POLL_SECONDS = 1.0
BREATH_SECONDS = 0.01
# A poll costs both sides something for each range, so many ranges are asked for less often.
PAUSE_SECONDS, PAUSE_OF_RANGE, LONGEST_PAUSE = 0.001, 0.0002, 0.25
# Of more ranges than these only the busy ones are asked for each time, all of them this often.
FEW_RANGES, BUSY_SECONDS, ALL_SECONDS = 64, 5.0, 0.25

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a watcher sees from where it stands; complete up to `resolved`."""

    frontiers: tuple[Frontier, ...]
    resolved: Ts
    events: tuple[DdlEvent, ...]


class Watch:
    """One watcher's place at a lookout. `look` is for one thread at a time."""

    def __init__(self, lookout: Lookout, wake: Callable[[], None]) -> None:
        self._lookout = lookout
        self.wake = wake
        self._ranges: frozenset[Range] = frozenset()

    def look(self, marks: Sequence[Mark], after: Ts) -> Sight:
        """From these marks, and from the DDL after a ts. Raises what the upstream says of any of the ranges."""
        living = [mark for mark in marks if not mark.closed]
        ranges = frozenset(mark.range for mark in living)
        gone, self._ranges = self._ranges - ranges, self._ranges | ranges
        own = self._lookout.arrive(self, living)
        with self._lookout.lock:
            self._lookout.leave(self, gone)
            self._ranges = ranges
            frontiers = tuple(self._lookout.frontier(mark, own) for mark in living)
        events, known = self._lookout.statements.after(after, alone=not living)
        # What a closed range holds is final, and soon read; it is its heirs that say how far its keys are resolved.
        resolved = min([known, *(frontier.resolved_ts for frontier in frontiers)])
        closed = self._lookout.closed([mark for mark in marks if mark.closed])
        return Sight((*frontiers, *closed), resolved, tuple(event for event in events if event.commit_ts <= resolved))

    def close(self) -> None:
        with self._lookout.lock:
            self._lookout.leave(self, self._ranges)
            self._ranges = frozenset()


class Lookout:
    """Of one upstream. Threads begin with the first range of a leader and end with the last."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self.lock = threading.Lock()
        self.statements = Statements(upstream)
        self._reaches: dict[Range, Reach[Watch]] = {}
        self._posts: dict[str, _Post] = {}
        self._closed = threading.Event()

    def watch(self, wake: Callable[[], None]) -> Watch:
        """`wake` is called from a thread of the lookout, and must return at once."""
        return Watch(self, wake)

    def close(self) -> None:
        self._closed.set()

    # What follows is for watches and posts.

    def closed(self, marks: Sequence[Mark]) -> list[Frontier]:
        """Of ranges that became others, as their watcher knows: asked for by itself, and not watched."""
        return self._upstream.frontier(marks, 0.0) if marks else []

    def arrive(self, watch: Watch, marks: Sequence[Mark]) -> dict[Range, Frontier]:
        """Note where a watcher stands. Returns the upstream's own answers for what is not kept here; what nobody
        watched yet is kept from now on."""
        with self.lock:
            unknown = [mark for mark in marks if not self._note(watch, mark)]
        if not unknown:
            return {}
        found = dict(zip((mark.range for mark in unknown), self._upstream.frontier(unknown, 0.0), strict=True))
        with self.lock:
            for mark in unknown:
                reach = self._reaches.get(mark.range)
                if reach is None:
                    reach = self._reaches[mark.range] = Reach(mark.from_ts, found[mark.range])
                    if not reach.heirs:
                        self._man(mark.range)
                elif reach.error is not None:
                    reach.error = None
                    self._man(mark.range)
                reach.watchers[watch] = mark.from_ts
        return found

    def frontier(self, mark: Mark, own: dict[Range, Frontier]) -> Frontier:
        reach = self._reaches[mark.range]
        if reach.error is not None:
            raise reach.error
        return reach.frontier(mark.from_ts) if mark.from_ts >= reach.base else own[mark.range]

    def leave(self, watch: Watch, ranges: frozenset[Range]) -> None:
        for range in ranges:
            reach = self._reaches.get(range)
            if reach is not None and reach.watchers.pop(watch, None) is not None and not reach.watchers:
                del self._reaches[range]
                self._unman(range)

    def poll(self, leader: str) -> float | None:
        """One round of a leader's post: how long to wait before the next; None when nothing is left to watch."""
        with self.lock:
            post = self._posts[leader]
            if not post.ranges or self._closed.is_set():
                del self._posts[leader]
                return None
            ranges, wait_s = post.round(self._reaches)
            marks = [self._reaches[range].mark(range) for range in ranges]
        woken, asked = self._ask(marks, wait_s)
        if self.statements.refresh():
            with self.lock:
                woken |= {watch for reach in self._reaches.values() for watch in reach.watchers}
        for watch in woken:
            watch.wake()
        pause = min(LONGEST_PAUSE, PAUSE_SECONDS + PAUSE_OF_RANGE * asked)
        return pause if woken else max(pause, BREATH_SECONDS)

    def wait(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def _note(self, watch: Watch, mark: Mark) -> bool:
        """Whether the range is kept here from that mark on; its watcher then holds it there."""
        reach = self._reaches.get(mark.range)
        if reach is None or reach.error is not None or mark.from_ts < reach.base:
            return False
        reach.watchers[watch] = mark.from_ts
        return True

    def _man(self, range: Range) -> None:
        post = self._posts.get(range.leader)
        if post is None:
            post = self._posts[range.leader] = _Post(self, range.leader)
            post.begin()
        post.ranges.add(range)

    def _unman(self, range: Range) -> None:
        post = self._posts.get(range.leader)
        if post is not None:
            post.ranges.discard(range)

    def _ask(self, marks: list[Mark], wait_s: float) -> tuple[set[Watch], int]:
        """Who is to be woken, and of how many ranges."""
        try:
            found = self._upstream.frontier(marks, wait_s)
        except UpstreamAway as error:
            return self._fail(marks, error), len(marks)
        except TailraceError as error:
            if len(marks) == 1:
                return self._fail(marks, error), 1
            half = len(marks) // 2
            return self._ask(marks[:half], 0.0)[0] | self._ask(marks[half:], 0.0)[0], len(marks)
        except Exception as error:
            logger.exception("a poll of frontiers")
            return self._fail(marks, UpstreamAway(f"a poll failed where no failure was foreseen: {error!r}")), 1
        woken: set[Watch] = set()
        with self.lock:
            for mark, frontier in zip(marks, found, strict=True):
                reach = self._reaches.get(mark.range)
                if reach is not None and reach.extend(mark.from_ts, frontier):
                    reach.news_at = time.monotonic()
                    woken |= reach.watchers.keys()
                    if reach.heirs:
                        self._unman(mark.range)
        return woken, len(marks)

    def _fail(self, marks: list[Mark], error: TailraceError) -> set[Watch]:
        """Their watchers are told; the ranges are polled again once one of them has asked with success."""
        woken: set[Watch] = set()
        with self.lock:
            for mark in marks:
                reach = self._reaches.get(mark.range)
                if reach is not None:
                    reach.error = error
                    woken |= reach.watchers.keys()
                    self._unman(mark.range)
        return woken


@dataclass(slots=True, eq=False)
class _Post:
    """The thread that asks one leader."""

    lookout: Lookout
    leader: str
    ranges: set[Range] = field(default_factory=set)
    asked_all_at: float = 0.0

    def round(self, reaches: dict[Range, Reach[Watch]]) -> tuple[list[Range], float]:
        """What to ask for now, and how long the leader may wait: of many ranges the busy ones, and all now and then,
        so that a thousand quiet ranges do not make the news of a busy one late."""
        now = time.monotonic()
        busy = [range for range in self.ranges if now < reaches[range].news_at + BUSY_SECONDS]
        left = self.asked_all_at + ALL_SECONDS - now
        if len(self.ranges) <= FEW_RANGES or not busy or left <= 0:
            self.asked_all_at = now
            return list(self.ranges), 0.0 if busy and len(self.ranges) > FEW_RANGES else POLL_SECONDS
        return busy, left

    def begin(self) -> None:
        threading.Thread(target=self._run, name=f"lookout-{self.leader}", daemon=True).start()

    def _run(self) -> None:
        while (pause := self.lookout.poll(self.leader)) is not None:
            self.lookout.wait(pause)


class Lookouts:
    """One lookout for each upstream that is open in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lookouts: dict[int, tuple[Upstream, Lookout]] = {}

    def of(self, upstream: Upstream) -> Lookout:
        with self._lock:
            known = self._lookouts.get(id(upstream))
            if known is None:
                known = self._lookouts[id(upstream)] = (upstream, Lookout(upstream))
            return known[1]

    def close(self) -> None:
        with self._lock:
            for _, lookout in self._lookouts.values():
                lookout.close()
            self._lookouts.clear()
