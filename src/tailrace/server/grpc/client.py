"""The client of a server's gRPC face: what the command line and other programs call.

Each call gives the server's own answer or raises the server's own error; a server that does not answer within the
deadline is `MetaAway`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import grpc

from tailrace.errors import MetaAway
from tailrace.proto.server_pb2 import CancelCDCRequest, ListCDCRequest
from tailrace.proto.services import CHANNEL_OPTIONS, callables
from tailrace.server.grpc.messages import error_value, request_message, status_value
from tailrace.server.grpc.servicer import SERVICE
from tailrace.server.requests import SubscribeRequest
from tailrace.server.subscriptions import Status

# Above the time that the server itself waits for a busy meta database.
DEADLINE_SECONDS = 15.0
# Everything about a sink and an upstream is tried at creation.
SUBSCRIBE_SECONDS = 120.0


class Client:
    """A connection to `HOST:PORT`. Closed by `with`."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._channel = grpc.insecure_channel(server, options=CHANNEL_OPTIONS)
        self._calls = callables(self._channel, SERVICE)

    def subscribe(self, request: SubscribeRequest) -> Status:
        return status_value(self._call("SubscribeCDC", request_message(request), SUBSCRIBE_SECONDS).subscriber)

    def cancel(self, name: str) -> Status:
        return status_value(self._call("CancelCDC", CancelCDCRequest(subscriber_name=name)).subscriber)

    def status(self, name: str = "") -> list[Status]:
        """One subscription by its name, or all."""
        answer = self._call("ListCDC", ListCDCRequest(subscriber_name=name))
        return [status_value(each) for each in answer.subscribers]

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: str, request: object, seconds: float = DEADLINE_SECONDS) -> Any:
        try:
            answer = self._calls[method](request, timeout=seconds)
        except grpc.RpcError as error:
            said = error.details() if isinstance(error, grpc.Call) else str(error)
            raise MetaAway(f"no server answers at {self._server}: {said}") from error
        if answer.HasField("error"):
            raise error_value(answer.error)
        return answer
