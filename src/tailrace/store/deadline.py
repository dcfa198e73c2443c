"""Deadlines for client libraries that know none.

What takes too long is left to itself in a thread that holds up nothing, not even the end of the process; whoever
asked goes on with an error. So what is asked must be harmless when it happens late, or be tried again as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What `work` gives or raises; TimeoutError where it does neither in time."""
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name="request", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError as error:
        if answer.done():
            raise
        raise TimeoutError(f"no answer within {seconds:.0f} s") from error
