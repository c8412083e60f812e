"""Sends spans and metrics by OpenTelemetry's SDK, with providers of its own. Imported only when it is used."""

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from itertools import islice
from threading import Lock, Thread
from typing import Any
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import StatusCode

from zapomni_core.telemetry.telemetry import RecordedSpan, Span, current_span

log = logging.getLogger("zapomni.telemetry")

CLOSING_SECONDS = 2.0
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SUPPORTED = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": {"http/protobuf"},
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": {"http/protobuf"},
    "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": {"http/protobuf"},
    "OTEL_TRACES_EXPORTER": {"otlp", "none"},
    "OTEL_METRICS_EXPORTER": {"otlp", "none"},
}
"""The supported values of the variables that choose a protocol or exporter."""

_KIND = re.compile(r"[A-Za-z_][\w.]{0,63}", re.ASCII)

LONGEST_WORD = 256
MOST_WORDS = 64

Value = str | bool | int | float | tuple[str, ...]


class Pipeline:
    """Collects spans and metrics, and sends them from two background threads."""

    def __init__(self, service_name: str, *, named: bool) -> None:
        _warn_about_unsupported()
        resource = _resource(service_name, named=named)
        self._delivery = _Delivery()
        self._exporters: list[OTLPSpanExporter | OTLPMetricExporter] = []
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        if _wanted("OTEL_TRACES_EXPORTER"):
            spans = _SpanExporter(self._delivery)
            self._exporters.append(spans)
            self._tracers.add_span_processor(BatchSpanProcessor(spans))
        readers = []
        if _wanted("OTEL_METRICS_EXPORTER"):
            metrics = _MetricExporter(self._delivery)
            self._exporters.append(metrics)
            readers.append(PeriodicExportingMetricReader(metrics))
        self._meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._tracer = self._tracers.get_tracer("zapomni", version("zapomni"))
        self._meter = self._meters.get_meter("zapomni", version("zapomni"))
        self._make_instruments()

    def _make_instruments(self) -> None:
        self._calls = self._meter.create_counter("zapomni.tool.calls", "{call}", "Calls of a tool")
        self._errors = self._meter.create_counter("zapomni.tool.errors", "{call}", "Calls of a tool that failed")
        self._seconds = self._meter.create_histogram(
            "zapomni.tool.duration", "s", "How long calls of a tool took", explicit_bucket_boundaries_advisory=BUCKETS
        )
        self._operations = self._meter.create_counter("zapomni.operation.calls", "{call}", "Operations")
        self._failures = self._meter.create_counter("zapomni.operation.errors", "{call}", "Operations that failed")
        self._spent = self._meter.create_histogram(
            "zapomni.operation.duration", "s", "How long operations took", explicit_bucket_boundaries_advisory=BUCKETS
        )

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, Any]) -> Iterator[Span]:
        """Record an operation, as a part of the current one if there is one."""
        # The SDK would record the exception's message, which may quote private data.
        with self._tracer.start_as_current_span(
            name, attributes=clean(attributes), record_exception=False, set_status_on_exception=False
        ) as recorded:
            span = RecordedSpan(lambda more: recorded.set_attributes(clean(more)))
            token, started, failure = current_span.set(span), time.perf_counter(), None
            try:
                yield span
                recorded.set_attribute("operation.success", True)
            except BaseException as error:
                failure = type(error).__name__
                recorded.set_attributes({"operation.success": False, "error.type": failure})
                recorded.set_status(StatusCode.ERROR)
                raise
            finally:
                current_span.reset(token)
                span.end()
                self._record_operation(name.rpartition(".")[2], time.perf_counter() - started, failure)

    def _record_operation(self, kind: str, seconds: float, error: str | None) -> None:
        attributes = {"operation.type": kind}
        self._operations.add(1, attributes)
        self._spent.record(seconds, attributes)
        if error is not None:
            self._failures.add(1, {**attributes, "error.type": error})

    def record_call(self, tool: str, seconds: float, error: str | None) -> None:
        """Count a call of a tool, and how it failed if it did."""
        attributes = {"tool": tool}
        self._calls.add(1, attributes)
        self._seconds.record(seconds, attributes)
        if error is not None:
            # The kind of error may be any text of a plugin.
            self._errors.add(1, {**attributes, "error.type": error if _KIND.fullmatch(error) else "error"})

    def gauge(self, name: str, read: Callable[[], float | None]) -> None:
        """Read a value whenever metrics are sent."""

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            value = read()
            return [] if value is None else [Observation(value)]

        self._meter.create_observable_gauge(name, [observe])

    async def close(self) -> None:
        """Send the rest, but do not wait long for an endpoint that is away."""
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        deadline = time.monotonic() + CLOSING_SECONDS
        threads = [Thread(target=one.shutdown, daemon=True) for one in (self._tracers, self._meters)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            self._delivery.failed()
            for exporter in self._exporters:
                exporter.shutdown()  # stops its retries, so that the threads end


class _Delivery:
    """Logs the first failed delivery only."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._logged = False

    def failed(self) -> None:
        with self._lock:
            logged, self._logged = self._logged, True
        if not logged:
            fix = "check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, or set telemetry.enabled to false"
            log.warning("telemetry_not_delivered", extra={"fix": f"{fix}; log level DEBUG shows more"})


class _SpanExporter(OTLPSpanExporter):
    def __init__(self, delivery: _Delivery) -> None:
        super().__init__()
        self._delivery = delivery

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is not SpanExportResult.SUCCESS:
            self._delivery.failed()
        return result


class _MetricExporter(OTLPMetricExporter):
    def __init__(self, delivery: _Delivery) -> None:
        super().__init__()
        self._delivery = delivery

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **kwargs)
        if result is not MetricExportResult.SUCCESS:
            self._delivery.failed()
        return result


def _wanted(variable: str) -> bool:
    """Whether a signal is sent at all."""
    return _value_of(variable) != "none"


def _value_of(variable: str) -> str:
    return os.environ.get(variable, "").strip().lower()


def _warn_about_unsupported() -> None:
    """Log which variables ask for an unsupported protocol or exporter."""
    ignored = [name for name, values in SUPPORTED.items() if (value := _value_of(name)) and value not in values]
    if ignored:
        fix = "telemetry is only sent by otlp over http/protobuf; use an endpoint that accepts it, usually at port 4318"
        log.warning("telemetry_variables_ignored", extra={"variables": ignored, "fix": fix})


def _resource(service_name: str, *, named: bool) -> Resource:
    """The sender. A name in the settings wins over the variables of OpenTelemetry, and those over the default."""
    given = Resource.create()
    ours = {"service.version": version("zapomni"), "service.instance.id": str(uuid4())}
    if named or str(given.attributes["service.name"]).startswith("unknown_service"):
        given = given.merge(Resource({"service.name": service_name}))
    return Resource(ours).merge(given)


def clean(attributes: Mapping[str, Any]) -> dict[str, Value]:
    """Convert attributes to the types of OpenTelemetry. None is left out, and of a mapping only the keys are sent."""
    return {name: _value(value) for name, value in attributes.items() if value is not None}


def _value(value: Any) -> Value:
    match value:
        case bool() | int() | float():
            return value
        case str():
            return _word(value)
        case date():
            return value.isoformat()
        case Iterable():
            return tuple(_word(str(one)) for one in islice(value, MOST_WORDS))
    return _word(str(value))


def _word(text: str) -> str:
    # A lone surrogate would fail the whole batch of spans.
    return text[:LONGEST_WORD].encode(errors="replace").decode()
