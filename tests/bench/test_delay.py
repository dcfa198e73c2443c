"""What is delayed arrives whole, and late."""

from __future__ import annotations

import time
import urllib.request

from bench.delay import delayed
from tailrace.server.http_port import Answer, HttpPort

BODY = bytes(range(256)) * 4096


def test_an_answer_comes_whole_and_as_late_as_was_asked_for() -> None:
    port = HttpPort("127.0.0.1:0", {"/": lambda: Answer(BODY)})
    try:
        with delayed(port.address, 80) as address:
            began = time.monotonic()
            with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
                assert answer.read() == BODY
            assert 0.08 <= time.monotonic() - began < 5
    finally:
        port.close()
