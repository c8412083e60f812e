"""Traces and metrics: what an operation did and how long it took, never its content."""

from zapomni_core.telemetry.telemetry import NO_TELEMETRY, Span, Telemetry, telemetry_for, timed

__all__ = ["NO_TELEMETRY", "Span", "Telemetry", "telemetry_for", "timed"]
