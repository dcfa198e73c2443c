"""Failures: the Tailrace error inside of an exception of Spark's.

Spark hands the errors of its Python processes on as text. This finds the typed error in that text again; it never
guesses: what is not one of ours is None.
"""

from __future__ import annotations

import re

from tailrace.errors import TailraceError, Transient, from_fields

_SAID = re.compile(r"tailrace\.errors\.(\w+): TR-\d{4} (.*)")
_PLACE = re.compile(r"(.*) \[(?:(?:subscription|table|position) .*)\]", re.DOTALL)


def failure_of(exception: BaseException | None) -> TailraceError | None:
    """The error of ours that a failed read or a query that ended (`query.exception()`) carries."""
    if exception is None or isinstance(exception, TailraceError):
        return exception
    said = _SAID.search(str(exception))
    if said is None:
        return failure_of(exception.__cause__)
    placed = _PLACE.fullmatch(said[2])
    found = from_fields({"kind": said[1], "message": placed[1] if placed else said[2]})
    return None if type(found) is Transient and said[1] != "Transient" else found
