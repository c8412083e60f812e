"""Conversations and documents for agents: sessions, vectors of their own, time, and a list of the tools that were missed."""

from typing import TYPE_CHECKING

from pydantic import BaseModel

from zapomni_core.plugin import MemoryEngine, Tool, hookimpl
from zapomni_plugin_sessions.settings import SessionsSettings

if TYPE_CHECKING:
    import click

__all__ = ["SessionsSettings"]


@hookimpl
def zapomni_settings() -> type[BaseModel]:
    return SessionsSettings


@hookimpl
def zapomni_tools(engine: MemoryEngine, settings: SessionsSettings) -> list[Tool]:
    from zapomni_plugin_sessions.tools import make_tools

    return make_tools(engine, settings.embedding_dimension)


@hookimpl
def zapomni_commands(engine: MemoryEngine) -> "list[click.Command]":
    from zapomni_plugin_sessions.commands import make_gaps

    return [make_gaps(engine)]
