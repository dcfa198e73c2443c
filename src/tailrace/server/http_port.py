"""The HTTP port: small answers to a probe, a browser or a scraper, each made by a function of no arguments.

Only GET and HEAD, only the paths that it was given; it reads no body and keeps no connection. A page that fails is
answered with 500 and without its reason, which is logged: a reason might hold anything.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tailrace.errors import ConfigError

logger = logging.getLogger(__name__)

REQUEST_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"


Pages = Mapping[str, Callable[[], Answer]]


class HttpPort:
    """Answers from the moment it is made, in threads of its own, until it is closed."""

    def __init__(self, listen: str, pages: Pages) -> None:
        host, _, port = listen.rpartition(":")
        try:
            self._server = _Server((host.strip("[]"), int(port)), _handler(pages))
        except (OSError, ValueError, OverflowError) as error:
            raise ConfigError(f"--http: {listen} cannot be listened on: is it free, and a HOST:PORT?") from error
        self.address = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    # A connection that says nothing must not hold up the end of the server.
    daemon_threads = True
    block_on_close = False
    # Two servers on one port would each get half of the requests.
    allow_reuse_port = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle of an answer is no event."""
        logger.debug("an HTTP connection broke off", exc_info=True)


def _handler(pages: Pages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_SECONDS
        server_version = "tailrace"
        sys_version = ""

        def do_GET(self) -> None:
            self._say(_answer(pages, urlsplit(self.path).path), body=True)

        def do_HEAD(self) -> None:
            self._say(_answer(pages, urlsplit(self.path).path), body=False)

        def _say(self, answer: Answer, body: bool) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if body:
                self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:
            """A scrape each few seconds is no event."""

    return Handler


def _answer(pages: Pages, path: str) -> Answer:
    page = pages.get(path)
    if page is None:
        return Answer(f"there is no such page; there are: {' '.join(sorted(pages))}\n".encode(), 404)
    try:
        return page()
    except Exception:
        logger.exception("the page %s failed", path)
        return Answer(b"the server failed at this page; its log says more\n", 500)
