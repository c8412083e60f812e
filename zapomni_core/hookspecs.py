"""The hooks a plugin may implement. All optional, all synchronous; none does I/O: hooks declare, objects act.

An implementation asks for any subset of a hook's arguments by name. `settings` is the plugin's own validated model, or
None where it declares none; `engine` is built but not connected.
"""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import pluggy
from pydantic import BaseModel

from zapomni_core.dispatch.middleware import Middleware
from zapomni_core.tool import Tool

if TYPE_CHECKING:
    import click

    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.providers import Provider

PROJECT = "zapomni"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def zapomni_settings() -> type[BaseModel]:
    """What can be configured: one pydantic model, filled from `[plugins.NAME]`. Called first; the others get the instance."""
    raise AssertionError


@hookspec
def zapomni_providers(settings: Any) -> "Iterable[Provider]":
    """What can replace a part or do jobs: stores, embedders, extractors, kinds of jobs, known by name and built when first needed."""
    raise AssertionError


@hookspec
def zapomni_tools(engine: "MemoryEngine", settings: Any) -> Iterable[Tool]:
    """What a model may call."""
    raise AssertionError


@hookspec
def zapomni_middleware(engine: "MemoryEngine", settings: Any) -> Iterable[Middleware]:
    """What goes around every call: observers, transforms, guards."""
    raise AssertionError


@hookspec
def zapomni_commands(engine: "MemoryEngine", settings: Any) -> "Iterable[click.Command]":
    """What a person may type after `zapomni`. Import click in the hook: the server needs no command line."""
    raise AssertionError


@hookspec
def zapomni_lifespan(engine: "MemoryEngine", settings: Any) -> AbstractAsyncContextManager[None]:
    """What must be opened before the plugin's tools run, and closed when the server ends."""
    raise AssertionError
