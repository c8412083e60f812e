"""Really removes what was deleted long ago, in the background of a server that is in use."""

import asyncio
import contextvars
import logging
import math
import time
from typing import TYPE_CHECKING

from zapomni_core.loops import is_in_a_loop
from zapomni_db.errors import DatabaseError

if TYPE_CHECKING:
    from zapomni_db.store import MemoryStore

log = logging.getLogger("zapomni.tidying")

KEEP_DELETED_DAYS = 30
FIRST_SECONDS = 60.0
"""After the store's first use: whoever waits for a first answer waits for nothing else."""
DAY_SECONDS = 24 * 60 * 60.0


def deleted_before(days: float = KEEP_DELETED_DAYS) -> float:
    """The moment so many days ago, in seconds since 1970; with 0 the end of time, for a clock may have been ahead."""
    return time.time() - days * DAY_SECONDS if days else math.inf


class Tidying:
    """Once a day, where it is open and the store is used: a server that only waits must not open its store for this."""

    def __init__(self) -> None:
        self._workspace: str | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self, workspace: str) -> None:
        """From now on the store's first use is reason enough to begin. All workspaces are tidied; any one can tell of them."""
        self._workspace = workspace

    def note_use(self, store: "MemoryStore") -> None:
        """The store is used."""
        if self._workspace is not None and self._task is None and is_in_a_loop():
            # In a context of its own: it is no part of the call that happened to be the first.
            self._task = asyncio.create_task(self._tidy(store), name="tidying", context=contextvars.Context())

    async def close(self) -> None:
        """End it; what is not removed today is removed another day."""
        self._workspace = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _tidy(self, store: "MemoryStore") -> None:
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            try:
                await self._purge(store)
            except DatabaseError:
                log.warning("not_tidied", exc_info=True)
            await asyncio.sleep(DAY_SECONDS)

    async def _purge(self, store: "MemoryStore") -> None:
        for workspace in (await store.stats(self._workspace or "")).workspaces:
            removed = await store.purge(workspace, deleted_before=deleted_before(), thorough=False)
            if removed:
                log.info("purged", extra={"memories": removed, "workspace": workspace})
