"""What takes too long ends for whoever asked."""

from __future__ import annotations

import threading
import time

import pytest

from tailrace.store.deadline import within


def refuse() -> None:
    raise TimeoutError("its own")


def test_in_time_it_is_as_if_nobody_watched() -> None:
    assert within(5, lambda: 7) == 7
    with pytest.raises(TimeoutError, match="its own"):
        within(5, refuse)
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)


def test_what_hangs_is_left_to_itself_in_a_thread_that_holds_up_nothing() -> None:
    let = threading.Event()
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="no answer within 0 s"):
        within(0.05, lambda: let.wait(10))
    assert time.monotonic() - began < 2
    left = [thread for thread in threading.enumerate() if thread.name == "request"]
    assert left and all(thread.daemon for thread in left)
    let.set()
