"""Serving: a gRPC server for services, with errors as messages.

A TailraceError becomes the response's `error`; anything else is a bug, is logged with its trace, and reaches the
caller as gRPC's UNKNOWN.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from tailrace.errors import ConfigError, TailraceError
from tailrace.proto.services import CHANNEL_OPTIONS, Method, handlers
from tailrace.upstream.dataserver.wire import error_message

# A long poll holds a thread while it waits, so there are more of them than cores would need.
THREADS = 64
_LOG = logging.getLogger(__name__)


def guarded(method: Method, response: type[Message]) -> Method:
    """The method with its TailraceErrors inside the response."""

    def call(request: Any) -> Message:
        try:
            return method(request)
        except TailraceError as error:
            answer = response()
            answer.error.CopyFrom(error_message(error))  # type: ignore[attr-defined]
            return answer
        except Exception:
            _LOG.exception("a call failed")
            raise

    return call


class Served:
    """A listening server; `address` holds the port that it got."""

    def __init__(self, listen: str, services: Sequence[tuple[ServiceDescriptor, object]]) -> None:
        self._server = grpc.server(
            ThreadPoolExecutor(THREADS, thread_name_prefix="call"),
            options=[*CHANNEL_OPTIONS, ("grpc.so_reuseport", 0)],
        )
        self._server.add_generic_rpc_handlers([handlers(service, servant, guarded) for service, servant in services])
        host = listen.rpartition(":")[0]
        try:
            port = self._server.add_insecure_port(listen)
        except RuntimeError as error:
            raise ConfigError(f"cannot listen on {listen}: {error}; another process may use the port") from error
        self.address = f"{host}:{port}"

    def start(self) -> None:
        self._server.start()

    def stop(self, grace_s: float) -> None:
        self._server.stop(grace_s).wait()
