"""An OTLP endpoint that receives spans and metrics and gives access to them as plain values."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

HELD_SECONDS = 100


@dataclass(frozen=True)
class Span:
    """A received span."""

    name: str
    id: bytes
    parent: bytes
    attributes: dict[str, Any]
    resource: dict[str, Any]
    failed: bool
    status_message: str
    events: int


class Collector:
    """Received spans and metrics. After `hold`, requests are not answered until `released` is set."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.points: dict[tuple[str, frozenset[tuple[str, Any]]], Any] = {}
        self.raw: list[bytes] = []
        self.waiting = threading.Event()
        self.released = threading.Event()
        self.released.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def hold(self) -> None:
        self.released.clear()

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def point(self, name: str, **attributes: Any) -> Any:
        """The last value of a metric: a number, the count and sum of a histogram, or None."""
        told = {key.replace("__", "."): value for key, value in attributes.items()}
        return self.points.get((name, frozenset(told.items())))

    def end(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, path: str, body: bytes) -> int:
        """Store the content of a request; returns the status of the answer."""
        if path == "/v1/traces":
            self.spans += _spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self.points |= dict(_points(ExportMetricsServiceRequest.FromString(body)))
        else:
            return 404
        self.raw.append(body)
        return 200

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.waiting.set()
                collector.released.wait(HELD_SECONDS)
                self.send_response(collector.take(self.path, body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        return Handler


@contextmanager
def run_collector() -> Iterator[Collector]:
    """Run a collector and end it on exit."""
    collector = Collector()
    try:
        yield collector
    finally:
        collector.end()


@contextmanager
def closed_port() -> Iterator[str]:
    """An address that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for span in (span for scope in group.scope_spans for span in scope.spans):
            yield Span(
                name=span.name,
                id=span.span_id,
                parent=span.parent_span_id,
                attributes=_attributes(span.attributes),
                resource=resource,
                failed=span.status.code == span.status.STATUS_CODE_ERROR,
                status_message=span.status.message,
                events=len(span.events),
            )


def _points(request: ExportMetricsServiceRequest) -> Iterator[tuple[tuple[str, frozenset[tuple[str, Any]]], Any]]:
    metrics = [one for group in request.resource_metrics for scope in group.scope_metrics for one in scope.metrics]
    for metric in metrics:
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            value = (point.count, point.sum) if kind == "histogram" else getattr(point, point.WhichOneof("value"))
            yield (metric.name, frozenset(_attributes(point.attributes).items())), value


def _attributes(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)
