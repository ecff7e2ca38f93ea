"""A gRPC server in front of a Triton that forwards every call without parsing it and records it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
from tritonclient.grpc.service_pb2 import ModelInferRequest

UNBOUNDED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class Recorder(grpc.GenericRpcHandler):
    """Records the names of called methods and the inference requests during a `with` block."""

    def __init__(self, triton: str) -> None:
        self.channel = grpc.insecure_channel(triton, UNBOUNDED)
        self.server = grpc.server(ThreadPoolExecutor(64), handlers=[self], options=UNBOUNDED)
        self.url = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.lock = threading.Lock()
        self.methods: set[str] = set()
        self.inferences: list[ModelInferRequest] = []

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        name = details.method.rpartition("/")[2]
        with self.lock:
            self.methods.add(name)
        if name == "ModelStreamInfer":
            return grpc.stream_stream_rpc_method_handler(
                lambda requests, context: self._stream(details.method, requests, context)
            )
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._unary(details.method, request, context)
        )

    def _unary(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        if method.endswith("/ModelInfer"):
            self._record(request)
        try:
            return self.channel.unary_unary(method)(request)
        except grpc.RpcError as error:
            return context.abort(error.code(), error.details())  # raises

    def _stream(self, method: str, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        def recorded() -> Iterator[bytes]:
            for message in requests:
                self._record(message)
                yield message

        try:
            yield from self.channel.stream_stream(method)(recorded())
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())

    def _record(self, message: bytes) -> None:
        with self.lock:
            self.inferences.append(ModelInferRequest.FromString(message))

    def __enter__(self) -> Recorder:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop(None)
        self.channel.close()
