"""The hooks that a plugin may implement. All are optional and synchronous, and none does I/O.

An implementation takes any subset of a hook's arguments by name. `settings` is the plugin's validated settings, or None if
it has no settings model; `engine` is the memory engine, not yet connected. Each hook is called once, in the order below.
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
    """Return the class of a pydantic model for the table `[plugins.NAME]` of the settings.

    Called first. An instance is passed to the other hooks as `settings`; invalid settings fail the plugin, with the keys
    that are wrong. Forbid extra keys in the model, so that misspelt ones are found.
    """
    raise AssertionError


@hookspec
def zapomni_providers(settings: Any) -> "Iterable[Provider]":
    """Return providers of stores, embedders, extractors and kinds of jobs.

    The user chooses one by its name in the settings; its factory is called when it is first needed. Providers of all
    plugins are registered before any other hook below is called. A name that another plugin has fails the plugin.
    """
    raise AssertionError


@hookspec
def zapomni_tools(engine: "MemoryEngine", settings: Any) -> Iterable[Tool]:
    """Return the tools that a language model may call.

    Each tool is checked against the rules of the registry. If one breaks a rule, or has the name of another plugin's tool,
    the plugin fails with all its tools; the user can rename a tool or prefer a plugin in the settings.
    """
    raise AssertionError


@hookspec
def zapomni_middleware(engine: "MemoryEngine", settings: Any) -> Iterable[Middleware]:
    """Return middleware that runs around every call of a tool: observers, transforms and guards.

    `stage` says which. If a transform or guard cannot start or fails, calls are refused.
    """
    raise AssertionError


@hookspec
def zapomni_commands(engine: "MemoryEngine", settings: Any) -> "Iterable[click.Command]":
    """Return click commands and groups that become commands of `zapomni`.

    Import click inside the hook, because a server does not need it. A command must not be `async def`, which click does
    not await.
    """
    raise AssertionError


@hookspec
def zapomni_lifespan(engine: "MemoryEngine", settings: Any) -> AbstractAsyncContextManager[None]:
    """Return an async context manager that is open while the server runs, or None.

    It is entered in the background at the start; calls of the plugin's tools wait for it. If it raises or takes too long,
    the plugin's tools are withdrawn. It is left when the server ends, in reverse order of the plugins.
    """
    raise AssertionError
