"""Where the core tells of its operations. Switched off, that costs nothing and imports nothing."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import TelemetrySettings
from zapomni_core.telemetry.span import UNTOLD, Span

if TYPE_CHECKING:
    from zapomni_core.telemetry.otlp import Pipeline

log = logging.getLogger("zapomni.telemetry")

NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")

Gauge = Callable[[], float | None]
"""Reads a value, or None while there is none; called in a thread of OpenTelemetry's."""


class Telemetry(Protocol):
    """What an engine tells of itself: spans of its operations, counts of its calls, values to look at."""

    async def load(self) -> None:
        """Load in a thread what the first operation would load else, and wait for."""
        ...

    def span(self, name: str, /, **attributes: Any) -> AbstractContextManager[Span]:
        """An operation, as a context manager around it: `memory.add_memory` has the type `add_memory`.

        One that ends in an exception was not successful; the exception's type is told, its message is not.
        """
        ...

    def record_call(self, tool: str, seconds: float, error: str | None) -> None:
        """Count a call of a tool, and how it failed if it did."""
        ...

    def gauge(self, name: str, read: Gauge) -> None:
        """Read a value whenever metrics are sent; a second reader of that name replaces the first one."""
        ...

    async def close(self) -> None:
        """Send what is left, for a few seconds at most; closing twice is closing once."""
        ...


class NoTelemetry:
    """Telemetry that is switched off."""

    async def load(self) -> None: ...

    def span(self, _name: str, /, **_attributes: Any) -> AbstractContextManager[Span]:
        return UNTOLD

    def record_call(self, tool: str, seconds: float, error: str | None) -> None: ...

    def gauge(self, name: str, read: Gauge) -> None: ...

    async def close(self) -> None: ...


NO_TELEMETRY: Telemetry = NoTelemetry()


class OpenTelemetry:
    """Telemetry by OpenTelemetry, to wherever its own variables say.

    It is loaded at the first operation, unless `load` was called before. What goes wrong with it is logged and never fails an operation.
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
            return UNTOLD
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
        # An engine can be used again after it was closed; the next operation starts anew.
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
            # OpenTelemetry reads its variables now, and one of them may make no sense to it.
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
    """The telemetry that the settings ask for; a ConfigurationError where that is not installed."""
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
