"""The wire: channels to servers by address, and errors as messages.

Guarantees that every call has a deadline, that a server which does not answer is `UpstreamAway` with its address, and
that an error raised in a server is raised here as the same class with the same text. Never retries: who calls knows
whether that is safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from tailrace.errors import TailraceError, Transient, UpstreamAway, from_fields
from tailrace.proto.base_pb2 import CDCError
from tailrace.proto.cdc_pb2 import DESCRIPTOR as CDC_FILE
from tailrace.proto.master_pb2 import DESCRIPTOR as MASTER_FILE
from tailrace.proto.services import CHANNEL_OPTIONS, callables
from tailrace.proto.store_pb2 import DESCRIPTOR as STORE_FILE

CDC: ServiceDescriptor = CDC_FILE.services_by_name["Cdc"]
STORE: ServiceDescriptor = STORE_FILE.services_by_name["Store"]
MASTER: ServiceDescriptor = MASTER_FILE.services_by_name["Master"]

CALL_SECONDS = 20.0
# A server that was restarted should be found again at once, and a lost one be noticed: gRPC's own 1 to 120 s are long.
_QUICK = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 300)]


def error_message(error: TailraceError) -> CDCError:
    return CDCError(
        code=error.code,
        kind=type(error).__name__,
        message=error.message,
        table=error.table,
        position=error.position,
        retry_after=error.retry_after if isinstance(error, Transient) else 0.0,
    )


def raised(message: CDCError) -> TailraceError:
    """The error that `error_message` wrote."""
    error = from_fields(
        {"kind": message.kind, "message": message.message, "table": message.table, "position": message.position}
    )
    if isinstance(error, Transient) and message.retry_after:
        error.retry_after = message.retry_after
    return error


class Wire:
    """One channel for each address; thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._channels: dict[str, grpc.Channel] = {}
        self._calls: dict[tuple[str, str], Callable[..., Any]] = {}

    def call(
        self, address: str, service: ServiceDescriptor, method: str, request: Message, seconds: float = CALL_SECONDS
    ) -> Any:
        """The response, or the error that it carries."""
        bound = self._calls.get((address, method)) or self._bind(address, service, method)
        try:
            response = bound(request, timeout=seconds)
        except grpc.RpcError as error:
            raise _away(address, method, error) from error
        except ValueError as error:
            raise UpstreamAway(f"the connection to {address} is closed") from error
        if response.HasField("error"):
            raise raised(response.error)
        return response

    def close(self) -> None:
        with self._mutex:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()
            self._calls.clear()

    def _bind(self, address: str, service: ServiceDescriptor, method: str) -> Callable[..., Any]:
        with self._mutex:
            channel = self._channels.get(address)
            if channel is None:
                channel = self._channels[address] = grpc.insecure_channel(address, options=[*CHANNEL_OPTIONS, *_QUICK])
            for name, bound in callables(channel, service).items():
                self._calls[address, name] = bound
            return self._calls[address, method]


def _away(address: str, method: str, error: grpc.RpcError) -> UpstreamAway:
    code, details = error.code(), error.details()
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return UpstreamAway(f"{address} did not answer {method} in time")
    if code == grpc.StatusCode.UNAVAILABLE:
        return UpstreamAway(f"{address} is away: {details}")
    return UpstreamAway(f"{address} failed in {method}: {code.name}: {details}")
