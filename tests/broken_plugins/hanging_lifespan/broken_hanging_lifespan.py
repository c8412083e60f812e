"""Offers a tool, but its lifespan is never ready."""

import asyncio
from contextlib import asynccontextmanager

from zapomni_core.plugin import hookimpl, tool


@tool
async def never_ready() -> str:
    """Answer a call, if only the lifespan were ever ready."""
    return "ready"


@hookimpl
def zapomni_tools():
    return [never_ready]


@hookimpl
def zapomni_lifespan():
    return hang()


@asynccontextmanager
async def hang():
    await asyncio.Event().wait()
    yield
