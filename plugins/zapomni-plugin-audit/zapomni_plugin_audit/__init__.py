"""Writes one JSON line for every tool call to a file the user names. Never contents."""

from contextlib import AbstractAsyncContextManager

from pydantic import BaseModel

from zapomni_core.plugin import Middleware, hookimpl
from zapomni_plugin_audit.middleware import AuditGuard, AuditObserver
from zapomni_plugin_audit.settings import AuditSettings

__all__ = ["AuditSettings"]


@hookimpl
def zapomni_settings() -> type[BaseModel]:
    return AuditSettings


@hookimpl
def zapomni_middleware(settings: AuditSettings) -> list[Middleware]:
    if settings.journal is None:
        return []
    observer = AuditObserver(settings.journal)
    return [observer, AuditGuard(settings.journal)] if settings.on_failure == "refuse" else [observer]


@hookimpl
def zapomni_lifespan(settings: AuditSettings) -> AbstractAsyncContextManager[None] | None:
    return settings.journal
