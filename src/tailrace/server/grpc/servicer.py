"""The gRPC face of a server: the seed's Subscribe and Cancel, and List. All of it calls `Subscriptions`.

A known error travels in the response's `error`. Anything else is a fault of ours: it is logged with its traceback and
answered as one, without its text, which might hold anything.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf.message import Message

from tailrace.errors import ConfigError, TailraceError, Transient
from tailrace.proto.server_pb2 import DESCRIPTOR as PROTO
from tailrace.proto.server_pb2 import (
    CancelCDCRequest,
    CancelCDCResponse,
    ListCDCRequest,
    ListCDCResponse,
    SubscribeCDCRequest,
    SubscribeCDCResponse,
)
from tailrace.proto.services import CHANNEL_OPTIONS, Method, handlers
from tailrace.server.grpc.messages import error_message, request_value, status_message
from tailrace.server.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

SERVICE = PROTO.services_by_name["CdcServer"]
THREADS = 16


class Servicer:
    """The methods by the names of the messages. `upstream` is what a request without one means."""

    def __init__(self, subscriptions: Subscriptions, cluster_id: int, upstream: str = "") -> None:
        self._subscriptions = subscriptions
        self._cluster_id = cluster_id
        self._upstream = upstream

    def SubscribeCDC(self, request: SubscribeCDCRequest) -> SubscribeCDCResponse:
        self._check_cluster(request.header.cluster_id)
        if not request.upstream:
            request.upstream = self._upstream
        return SubscribeCDCResponse(subscriber=status_message(self._subscriptions.subscribe(request_value(request))))

    def CancelCDC(self, request: CancelCDCRequest) -> CancelCDCResponse:
        self._check_cluster(request.header.cluster_id)
        return CancelCDCResponse(subscriber=status_message(self._subscriptions.cancel(request.subscriber_name)))

    def ListCDC(self, request: ListCDCRequest) -> ListCDCResponse:
        self._check_cluster(request.header.cluster_id)
        name = request.subscriber_name
        found = [self._subscriptions.status(name)] if name else self._subscriptions.all()
        return ListCDCResponse(subscribers=[status_message(each) for each in found])

    def _check_cluster(self, asked: int) -> None:
        if asked not in (0, self._cluster_id):
            raise ConfigError(f"this server is of cluster {self._cluster_id}, not of cluster {asked}")


def serve(servicer: Servicer, listen: str) -> tuple[grpc.Server, int]:
    """A started server, and the port that it got. ConfigError when the address cannot be had."""
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="grpc")
    # Two servers on one port would each get half of the calls.
    server = grpc.server(pool, options=[*CHANNEL_OPTIONS, ("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((handlers(SERVICE, servicer, _guarded),))
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as error:
        raise ConfigError(f"--listen: {listen} cannot be listened on: is it free, and a HOST:PORT?") from error
    server.start()
    return server, port


def _guarded(method: Method, response: type[Message]) -> Method:
    def call(request: Any) -> Message:
        try:
            return method(request)
        except TailraceError as error:
            return response(error=error_message(error))
        except Exception:
            logger.exception("a call failed")
            return response(error=error_message(Transient("the server failed at this call; its log says more")))

    return call
