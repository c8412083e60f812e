"""OpenTelemetry's SDK at work for one engine, with providers of its own. Imported only when it is used."""

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
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

from zapomni_core.telemetry.attributes import clean
from zapomni_core.telemetry.span import Span, ToldSpan, current_span

log = logging.getLogger("zapomni.telemetry")

CLOSING_SECONDS = 2.0
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SPOKEN = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": {"http/protobuf"},
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": {"http/protobuf"},
    "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": {"http/protobuf"},
    "OTEL_TRACES_EXPORTER": {"otlp", "none"},
    "OTEL_METRICS_EXPORTER": {"otlp", "none"},
}
"""What the variables that choose a way of sending may ask for."""

_KIND = re.compile(r"[A-Za-z_][\w.]{0,63}", re.ASCII)


class Pipeline:
    """Spans and metrics on their way out: collected here, sent in the background by two threads."""

    def __init__(self, service_name: str, *, named: bool) -> None:
        _tell_of_what_is_not_spoken()
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
        """An operation that the current one is made of, or one of its own."""
        # The SDK's own record of an exception would have its message, and with it whatever the message quotes.
        with self._tracer.start_as_current_span(
            name, attributes=clean(attributes), record_exception=False, set_status_on_exception=False
        ) as told:
            span = ToldSpan(lambda more: told.set_attributes(clean(more)))
            token, started, failure = current_span.set(span), time.perf_counter(), None
            try:
                yield span
                told.set_attribute("operation.success", True)
            except BaseException as error:
                failure = type(error).__name__
                told.set_attributes({"operation.success": False, "error.type": failure})
                told.set_status(StatusCode.ERROR)
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
            # A plugin's own kind of error is whatever it wrote there.
            self._errors.add(1, {**attributes, "error.type": error if _KIND.fullmatch(error) else "error"})

    def gauge(self, name: str, read: Callable[[], float | None]) -> None:
        """Read a value whenever metrics are sent."""

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            value = read()
            return [] if value is None else [Observation(value)]

        self._meter.create_observable_gauge(name, [observe])

    async def close(self) -> None:
        """Send what is left, but do not wait long for an endpoint that is away."""
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        deadline = time.monotonic() + CLOSING_SECONDS
        endings = [Thread(target=one.shutdown, daemon=True) for one in (self._tracers, self._meters)]
        for ending in endings:
            ending.start()
        for ending in endings:
            ending.join(max(0.0, deadline - time.monotonic()))
        if any(ending.is_alive() for ending in endings):
            self._delivery.failed()
            for exporter in self._exporters:
                exporter.shutdown()  # it tries no more, so that the threads end


class _Delivery:
    """Tells once that nothing arrives, however often that happens."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._told = False

    def failed(self) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            fix = "check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, or set telemetry.enabled to false"
            log.warning("telemetry_not_delivered", extra={"fix": f"{fix}; log level DEBUG tells more"})


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
    """Whether a signal is sent at all: `none` is the standard word for no."""
    return _said(variable) != "none"


def _said(variable: str) -> str:
    return os.environ.get(variable, "").strip().lower()


def _tell_of_what_is_not_spoken() -> None:
    """Say which variables ask for another way of sending; what is sent goes the one way that there is."""
    unheeded = [variable for variable, spoken in SPOKEN.items() if (said := _said(variable)) and said not in spoken]
    if unheeded:
        fix = "telemetry is sent by otlp over http/protobuf alone; name an endpoint that takes it, usually at port 4318"
        log.warning("telemetry_variables_not_heeded", extra={"variables": unheeded, "fix": fix})


def _resource(service_name: str, *, named: bool) -> Resource:
    """Who is telling. A name that the user set wins over the variables of OpenTelemetry, and those over ours."""
    said = Resource.create()
    ours = {"service.version": version("zapomni"), "service.instance.id": str(uuid4())}
    if named or str(said.attributes["service.name"]).startswith("unknown_service"):
        said = said.merge(Resource({"service.name": service_name}))
    return Resource(ours).merge(said)
