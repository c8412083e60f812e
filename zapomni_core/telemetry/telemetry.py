"""Traces and metrics of operations. Switched off, they cost nothing and import nothing."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import TelemetrySettings

if TYPE_CHECKING:
    from zapomni_core.telemetry.otlp import Pipeline

log = logging.getLogger("zapomni.telemetry")

NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")

Gauge = Callable[[], float | None]
"""Reads a value, or None while there is none; called in a thread of OpenTelemetry."""


class Span(Protocol):
    """A running operation. Attributes are counts, lengths, kinds and ids; never text, a path or a key."""

    def set(self, **attributes: Any) -> None:
        """Add attributes."""
        ...


class NoSpan:
    """A span that records nothing."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        return None

    def set(self, **attributes: Any) -> None: ...


NO_SPAN = NoSpan()


class RecordedSpan:
    """A span that adds the milliseconds of its parts when it ends."""

    def __init__(self, set_attributes: Callable[[Mapping[str, Any]], None]) -> None:
        self._set_attributes = set_attributes
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def set(self, **attributes: Any) -> None:
        self._set_attributes(attributes)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time of the block to one part of the operation."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[part] += time.perf_counter() - started

    def end(self) -> None:
        """Add the time of each part."""
        self._set_attributes({f"{part}_ms": round(seconds * 1000, 3) for part, seconds in self._seconds.items()})


current_span: ContextVar[RecordedSpan | None] = ContextVar("zapomni_span", default=None)


def timed(part: str) -> AbstractContextManager[Any]:
    """Add the time of the block to one part of the current span: `timed("embedding")` adds to its `embedding_ms`."""
    span = current_span.get()
    return NO_SPAN if span is None else span.timed(part)


class Telemetry(Protocol):
    """Records spans of operations, counts of calls, and gauges."""

    async def load(self) -> None:
        """Load OpenTelemetry in a thread, which the first operation would otherwise do."""
        ...

    def span(self, name: str, /, **attributes: Any) -> AbstractContextManager[Span]:
        """Record an operation, as a context manager around it: `memory.add_memory` has the type `add_memory`.

        Of an exception, only the type is recorded, never the message.
        """
        ...

    def record_call(self, tool: str, seconds: float, error: str | None) -> None:
        """Count a call of a tool, and how it failed if it did."""
        ...

    def gauge(self, name: str, read: Gauge) -> None:
        """Read a value whenever metrics are sent; a second reader of a name replaces the first."""
        ...

    async def close(self) -> None:
        """Send the rest, for a few seconds at most. Idempotent."""
        ...


class NoTelemetry:
    """Telemetry that is switched off."""

    async def load(self) -> None: ...

    def span(self, _name: str, /, **_attributes: Any) -> AbstractContextManager[Span]:
        return NO_SPAN

    def record_call(self, tool: str, seconds: float, error: str | None) -> None: ...

    def gauge(self, name: str, read: Gauge) -> None: ...

    async def close(self) -> None: ...


NO_TELEMETRY: Telemetry = NoTelemetry()


class OpenTelemetry:
    """Sends telemetry by OpenTelemetry, to the endpoint of its own variables.

    OpenTelemetry is loaded by `load` or the first operation. Its failures are logged and never fail an operation.
    """

    def __init__(self, settings: TelemetrySettings, db_system: str) -> None:
        _check_installed()
        self._settings = settings
        self._db_system = db_system
        self._gauges: dict[str, Gauge] = {}
        self._pipeline: Pipeline | None = None
        self._failed = False
        self._opening = Lock()

    async def load(self) -> None:
        await asyncio.to_thread(self._open)

    def span(self, name: str, /, **attributes: Any) -> AbstractContextManager[Span]:
        pipeline = self._open()
        if pipeline is None:
            return NO_SPAN
        common = {"operation.type": name.rpartition(".")[2], "db.system": self._db_system}
        return pipeline.span(name, common | attributes)

    def record_call(self, tool: str, seconds: float, error: str | None) -> None:
        pipeline = self._open()
        if pipeline is not None:
            pipeline.record_call(tool, seconds, error)

    def gauge(self, name: str, read: Gauge) -> None:
        is_new = name not in self._gauges
        self._gauges[name] = read
        if is_new and self._pipeline is not None:
            self._send_gauge(name, self._pipeline)

    async def close(self) -> None:
        # An engine can be used again after it was closed; the next operation starts a new pipeline.
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            await pipeline.close()

    def _open(self) -> "Pipeline | None":
        if self._pipeline is None and not self._failed:
            with self._opening:
                self._open_once()
        return self._pipeline

    def _open_once(self) -> None:
        if self._pipeline is not None or self._failed:
            return
        try:
            self._pipeline = self._make_pipeline()
        except Exception:
            # OpenTelemetry reads its variables now, and they may be invalid.
            self._failed = True
            log.exception("telemetry_not_started", extra={"fix": "check the variables OTEL_*"})

    def _make_pipeline(self) -> "Pipeline":
        from zapomni_core.telemetry.otlp import Pipeline

        pipeline = Pipeline(self._settings.service_name, named="service_name" in self._settings.model_fields_set)
        for name in self._gauges:
            self._send_gauge(name, pipeline)
        return pipeline

    def _send_gauge(self, name: str, pipeline: "Pipeline") -> None:
        pipeline.gauge(name, partial(self._read, name))

    def _read(self, name: str) -> float | None:
        return self._gauges[name]()


def telemetry_for(settings: TelemetrySettings, db_system: str) -> Telemetry:
    """Build the telemetry of the settings; raise ConfigurationError if OpenTelemetry is not installed."""
    return OpenTelemetry(settings, db_system) if settings.enabled else NO_TELEMETRY


def _check_installed() -> None:
    from importlib.util import find_spec

    try:
        there = all(map(find_spec, NEEDED))
    except ModuleNotFoundError:
        there = False
    if not there:
        raise ConfigurationError(
            "telemetry.enabled is true, but OpenTelemetry is not installed; run: pip install 'zapomni[otel]'"
        )
