"""Waiting for background work."""

import asyncio


async def until(condition):
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not (found := await condition()):  # noqa: ASYNC110 - what is waited for is in the store
            await asyncio.sleep(0.02)
    return found
