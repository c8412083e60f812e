"""Traces and metrics: what an operation did and how long it took, never what it was about."""

from zapomni_core.telemetry.recording import NO_TELEMETRY, Telemetry, telemetry_for
from zapomni_core.telemetry.span import Span, timed

__all__ = ["NO_TELEMETRY", "Span", "Telemetry", "telemetry_for", "timed"]
