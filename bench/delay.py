"""A loopback proxy that answers late: what a store that is some milliseconds away costs.

    python -m bench.delay TARGET_HOST:PORT MILLISECONDS      prints its own port, and ends when its input is closed

Each direction of a connection is held up by half of the delay, without making the line any narrower.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK = 1 << 16


@contextmanager
def delayed(address: str, milliseconds: float) -> Iterator[str]:
    """The address of a proxy in a process of its own, which shares no interpreter with what is measured."""
    command = [sys.executable, "-m", "bench.delay", address, str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            process.wait(10)


async def _hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Hand on what comes, each piece so much later, until the end of one side."""
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def read() -> None:
        data = b"more"
        while data:
            try:
                data = await reader.read(CHUNK)
            except OSError:
                data = b""
            waiting.put_nowait((loop.time() + seconds, data))

    reading = asyncio.ensure_future(read())
    with suppress(OSError):
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
    writer.close()
    await reading


async def _serve(host: str, port: int, seconds: float) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(_hold(reader, far_writer, seconds / 2), _hold(far_reader, writer, seconds / 2))

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    # Connections that are still open are nobody's any more.
    os._exit(0)


if __name__ == "__main__":
    target, _, number = sys.argv[1].rpartition(":")
    asyncio.run(_serve(target, int(number), float(sys.argv[2]) / 1000))
