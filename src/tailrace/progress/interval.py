"""Intervals: what of a key space is delivered, and through which ts. Pure arithmetic of values.

**The model.** A subscription remembers for every key through which ts its changes are delivered: 0 says nothing, not
even the row. Neighbouring keys that agree are one interval, so a table is a short list. Three things change it:

* a page of a snapshot at version V *fills* keys that have nothing: they are through V;
* a cut of the log up to T *raises* keys that have something to T, and never those that have nothing;
* a range that splits, merges or moves changes nothing: its heirs take over what it had, *cut* to their keys.

A change is taken from a log exactly when its key has something and its commit ts is above what the key has. So no row
is taken twice, none is missed, and none goes back in time, whichever log it is found in.

Invariants of a list: it has no gaps, its intervals are not empty, and two neighbours differ in `through`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tailrace.change.tso import Ts

NOTHING: Ts = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """Keys from `start` on and below `end` (empty: no end), delivered through a ts (0: nothing)."""

    start: bytes
    end: bytes
    through: Ts = NOTHING

    def covers(self, key: bytes) -> bool:
        return self.start <= key and (not self.end or key < self.end)


Intervals = tuple[Interval, ...]


def above(key: bytes) -> bytes:
    """The first key that is above a key."""
    return key + b"\0"


def before(one: bytes, other: bytes) -> bool:
    """Whether an end lies before another one."""
    return one != b"" and (other == b"" or one < other)


def joined(parts: Iterable[Interval]) -> Intervals:
    """Intervals in key order as a list: neighbours that agree are one. None may overlap."""
    found: list[Interval] = []
    for part in sorted(parts, key=lambda each: each.start):
        last = found[-1] if found else None
        if last is not None and last.end == part.start and last.through == part.through and last.end:
            found[-1] = replace(last, end=part.end)
        else:
            found.append(part)
    return tuple(found)


def cut(intervals: Intervals, start: bytes, end: bytes) -> Intervals:
    """What a list says of the keys from `start` to `end`."""
    found: list[Interval] = []
    for each in intervals:
        low = max(each.start, start)
        high = each.end if before(each.end, end) else end
        if not high or low < high:
            found.append(Interval(low, high, each.through))
    return tuple(found)


def spans(intervals: Intervals, start: bytes, end: bytes) -> bool:
    """Whether a list says something of every key from `start` to `end`."""
    at, ended = start, False
    for each in cut(intervals, start, end):
        if each.start != at or ended:
            return False
        at, ended = each.end, each.end == b""
    return at == end


def raised(intervals: Intervals, ts: Ts) -> Intervals:
    """What has something has it through `ts` at least."""
    return joined(replace(each, through=max(each.through, ts)) if each.through else each for each in intervals)


def filled(intervals: Intervals, start: bytes, end: bytes, version: Ts) -> Intervals:
    """The keys from `start` to `end` that had nothing have their rows as of `version`."""
    found: list[Interval] = []
    for each in intervals:
        inside = cut((each,), start, end) if not each.through else ()
        if not inside:
            found.append(each)
            continue
        (middle,) = inside
        if each.start < middle.start:
            found.append(replace(each, end=middle.start))
        found.append(replace(middle, through=version))
        if middle.end != each.end:
            found.append(replace(each, start=middle.end))
    return joined(found)


def missing(intervals: Intervals) -> Interval | None:
    """The first keys that have nothing."""
    return next((each for each in intervals if not each.through), None)


def present(intervals: Intervals) -> Intervals:
    """The keys that have something."""
    return tuple(each for each in intervals if each.through)
