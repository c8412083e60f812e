"""Kinds of jobs: the objects that providers of kind `job` make."""

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from zapomni_core.errors import ContractError, ProcessingError
from zapomni_core.host.importing import BackgroundCall
from zapomni_core.providers import ProviderContext, Providers
from zapomni_core.settings import Settings
from zapomni_db.records import Job

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine

JobProgress = Callable[[float | None, str], Awaitable[None]]

EMBED = "embed"
"""The kind of the jobs that embed what was stored without vectors."""
DEFAULT_EXTRACTOR = "names"
"""The extractor that `build_graph` uses where the settings name none. The plugin graph offers it."""
MAKE_SECONDS = 5.0
"""The limit for a factory; slow work belongs in `run`."""


class JobKind(Protocol):
    """Runs the jobs of one kind. After a crash a job may run twice, so running it again must be harmless."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any] | None:
        """Run one job, and return its result as plain JSON.

        `engine` is bound to the job's workspace. `progress(fraction, message)` reports how far it is, from 0 to 1. Raise
        Postpone if something that the job needs is away; any other exception is a failed attempt, which is retried.
        """
        ...


class Postpone(Exception):  # noqa: N818 - not an error: the job waits
    """Raise it if something that a job needs is away: it is run again after so many seconds, and no attempt is counted."""

    def __init__(self, seconds: float, reason: str) -> None:
        if not isinstance(seconds, int | float) or not math.isfinite(seconds):
            raise ContractError("Postpone(seconds, reason): seconds must be a finite number")
        if not isinstance(reason, str):
            raise ContractError("Postpone(seconds, reason): reason must be text")
        super().__init__(reason)
        self.seconds = seconds
        self.reason = reason


def kind_by(kind: str, extractor: str) -> str:
    """The kind of jobs that only processes with that extractor run: `extract:llm`."""
    return f"{kind}:{extractor}"


class Kinds:
    """The kinds of jobs that this process runs, by name; each is built for its first job.

    `extractor` is the name of this process's extractor: jobs for another one are left to other processes.
    """

    def __init__(self, providers: Providers, settings: Settings, extractor: str = DEFAULT_EXTRACTOR) -> None:
        self._providers = providers
        self._settings = settings
        self._extractor = extractor
        self._calls: dict[str, BackgroundCall] = {}

    @property
    def names(self) -> list[str]:
        """The kinds that are offered now, alone and for this extractor."""
        offered = self._providers.names("job")
        return offered + [kind_by(name, self._extractor) for name in offered]

    def does(self, kind: str) -> bool:
        """Whether jobs of a kind are run here."""
        name, mark, extractor = kind.partition(":")
        return self._providers.offers("job", name) and (not mark or extractor == self._extractor)

    def owner(self, kind: str) -> str | None:
        """The plugin that offers a kind; None if it is unknown."""
        name = kind.partition(":")[0]
        return self._providers.owner(self._providers.get("job", name)) if self._providers.offers("job", name) else None

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:
        """Run a job and return its result; ProcessingError if its kind cannot be built, or returns something else."""
        running: Any = (await self._made(job.kind)).run(engine, job, progress)
        if not inspect.isawaitable(running):
            raise self._unusable(job.kind, "its 'run' is no 'async def'")
        result = await running
        if not isinstance(result, Mapping | None):
            raise self._unusable(job.kind, f"its 'run' returned {type(result).__name__}, neither a dictionary nor None")
        return result or {}

    async def _made(self, kind: str) -> JobKind:
        """The object for a kind, whichever extractor it is for. A factory that raised is called again."""
        name = kind.partition(":")[0]
        call = self._calls.get(name) or self._begin(name)
        if not call.is_done:
            await asyncio.to_thread(call.wait, MAKE_SECONDS)
        if not call.is_done:
            raise self._unusable(kind, f"its factory has not come back after {MAKE_SECONDS:g} seconds")
        if call.error:
            self._calls.pop(name, None)
            raise self._unusable(kind, f"its factory raised {type(call.error).__name__}") from call.error
        return self._checked(kind, call.result)

    def _begin(self, name: str) -> BackgroundCall:
        """Call the factory in a thread: the event loop must not wait for it."""
        factory, context = self._providers.get("job", name).factory, ProviderContext(settings=self._settings)
        self._calls[name] = BackgroundCall(lambda: factory(context))
        return self._calls[name]

    def _checked(self, kind: str, made: Any) -> JobKind:
        if inspect.iscoroutine(made):
            made.close()
            raise self._unusable(kind, "its factory is async: it must be 'def', and return the kind itself")
        if not callable(getattr(made, "run", None)):
            raise self._unusable(kind, f"its factory returned {type(made).__name__}, which has no run()")
        found: JobKind = made
        return found

    def _unusable(self, kind: str, cause: str) -> ProcessingError:
        plugin = self.owner(kind)
        whose = f" of plugin '{plugin}'" if plugin else ""
        return ProcessingError(
            f"the job kind '{kind}'{whose} cannot be used: {cause}; the log has the details for its author"
        )
