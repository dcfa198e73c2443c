"""Services, bound from their descriptors: what a gRPC server offers and what a client calls, without generated stubs.

Every method is unary. An object serves a service by having a method of each of its names, from request to response.
This module knows nothing of errors, deadlines or addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

Method = Callable[[Any], Message]
Guard = Callable[[Method, type[Message]], Method]

MAX_MESSAGE = 256 << 20
CHANNEL_OPTIONS = [
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.max_receive_message_length", MAX_MESSAGE),
]


def handlers(service: ServiceDescriptor, servant: object, guard: Guard) -> grpc.GenericRpcHandler:
    """A service's methods as `servant` has them; `guard(method, response class)` wraps each one."""
    bound = {}
    for method in service.methods:
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call = guard(getattr(servant, method.name), response)
        bound[method.name] = grpc.unary_unary_rpc_method_handler(
            _without_context(call),
            request_deserializer=request.FromString,
            response_serializer=response.SerializeToString,
        )
    return grpc.method_handlers_generic_handler(service.full_name, bound)


def callables(channel: grpc.Channel, service: ServiceDescriptor) -> dict[str, Callable[..., Any]]:
    """A service's methods by name, each `call(request, timeout=seconds)`."""
    return {
        method.name: channel.unary_unary(
            f"/{service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        for method in service.methods
    }


def _without_context(call: Method) -> Callable[[Any, grpc.ServicerContext], Message]:
    return lambda request, context: call(request)
