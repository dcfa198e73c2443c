"""Requests: what somebody asks for, and what of it is wrong. Pure but for the time zone's name.

`SubscribeRequest.problems` names everything that can be seen to be wrong without asking anybody; what only the
configuration, the sink or the upstream can tell is asked in `subscriptions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailrace.change.tso import MAX_TS, Ts
from tailrace.config import zone_named
from tailrace.errors import ConfigError
from tailrace.sink.base import Problem

NAME = re.compile(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*")
NAME_LENGTH = 128


@dataclass(frozen=True, slots=True)
class SubscribeRequest:
    """`start` is `snapshot`, `now` or a timestamp in digits; `end` a timestamp in digits, or empty: never."""

    name: str
    upstream: str
    sink: str
    config: str = ""
    rules: tuple[str, ...] = ()
    start: str = "snapshot"
    end: str = ""
    time_zone: str = "UTC"

    @property
    def end_ts(self) -> Ts:
        return int(self.end) if self.end else MAX_TS

    def problems(self) -> list[Problem]:
        return [*self._name_problems(), *self._time_problems(), *self._zone_problems()]

    def _name_problems(self) -> list[Problem]:
        if NAME.fullmatch(self.name) and len(self.name) <= NAME_LENGTH:
            return []
        said = f"{self.name[:NAME_LENGTH]!r} is no name; it may have up to {NAME_LENGTH} letters and digits, and - or _"
        return [Problem("name", f"{said} between them")]

    def _time_problems(self) -> list[Problem]:
        found = []
        if self.start not in ("snapshot", "now") and not _is_ts(self.start):
            found.append(Problem("start", f"{self.start!r} may be snapshot, now or a timestamp in digits"))
        if self.end and not _is_ts(self.end):
            found.append(Problem("end", f"{self.end!r} may be a timestamp in digits, or left out"))
        elif self.end and _is_ts(self.start) and int(self.end) <= int(self.start):
            found.append(Problem("end", f"{self.end} must be above the start, {self.start}"))
        return found

    def _zone_problems(self) -> list[Problem]:
        try:
            zone_named(self.time_zone)
        except ConfigError as error:
            return [Problem("time zone", error.message)]
        return []


def _is_ts(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) <= MAX_TS
