"""Kinds of jobs: what a provider of kind `job` makes."""

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from zapomni_core.errors import ContractError, ProcessingError
from zapomni_core.host.errands import Errand, Errands
from zapomni_core.providers import ProviderContext, Providers
from zapomni_core.settings import Settings
from zapomni_db.records import Job

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine

JobProgress = Callable[[float | None, str], Awaitable[None]]

DEFAULT_EXTRACTOR = "names"
"""The extractor that `build_graph` uses where the settings name none. The plugin graph offers it."""
MAKE_SECONDS = 5.0
"""For a factory: what takes longer belongs in `run`."""


class JobKind(Protocol):
    """Does the jobs of one kind. A job may be begun twice, after a crash: what it does must have its effect once."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any] | None:
        """Do one job, and return its result as plain JSON.

        `engine` is bound to the job's workspace. `progress(fraction, message)` tells how far it is, from 0 to 1. Raise
        Postpone where what the job needs is away; any other exception is a failed attempt, and is tried again later.
        """
        ...


class Postpone(Exception):  # noqa: N818 - it is no error: the job waits, and has not been tried
    """Raised by a kind when what a job needs is away: it is tried again after so many seconds, and that is no attempt."""

    def __init__(self, seconds: float, reason: str) -> None:
        if not isinstance(seconds, int | float) or not math.isfinite(seconds):
            raise ContractError("Postpone(seconds, reason): seconds must be a finite number")
        if not isinstance(reason, str):
            raise ContractError("Postpone(seconds, reason): reason must be text")
        super().__init__(reason)
        self.seconds = seconds
        self.reason = reason


def kind_by(kind: str, extractor: str) -> str:
    """The kind of jobs that only a process does whose extractor has that name: `extract:llm`."""
    return f"{kind}:{extractor}"


class Kinds:
    """The kinds of jobs that can be done here, by name; each is made when a job of it comes first.

    `extractor` names the one that reads memories here: jobs that are for another one are left to others.
    """

    def __init__(self, providers: Providers, settings: Settings, extractor: str = DEFAULT_EXTRACTOR) -> None:
        self._providers = providers
        self._settings = settings
        self._extractor = extractor
        self._errands: dict[str, Errand] = {}

    @property
    def names(self) -> list[str]:
        """The kinds that are offered now, and those of them that are for this extractor."""
        offered = self._providers.names("job")
        return offered + [kind_by(name, self._extractor) for name in offered]

    def does(self, kind: str) -> bool:
        """Whether jobs of a kind are done here."""
        name, mark, extractor = kind.partition(":")
        return self._providers.offers("job", name) and (not mark or extractor == self._extractor)

    def owner(self, kind: str) -> str | None:
        """The plugin that does the jobs of a kind; None where it is not known."""
        name = kind.partition(":")[0]
        return self._providers.owner(self._providers.get("job", name)) if self._providers.offers("job", name) else None

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:
        """The result of a job; ProcessingError where its kind cannot do any, or returned what is no result."""
        running: Any = (await self._made(job.kind)).run(engine, job, progress)
        if not inspect.isawaitable(running):
            raise self._unusable(job.kind, "its 'run' is no 'async def'")
        result = await running
        if not isinstance(result, Mapping | None):
            raise self._unusable(job.kind, f"its 'run' returned {type(result).__name__}, neither a dictionary nor None")
        return result or {}

    async def _made(self, kind: str) -> JobKind:
        """What does the jobs of a kind, whichever extractor they are for. A factory that raised is asked again."""
        name = kind.partition(":")[0]
        errand = self._errands.get(name) or self._begin(name)
        if not errand.is_done:
            await asyncio.to_thread(errand.wait, MAKE_SECONDS)
        if not errand.is_done:
            raise self._unusable(kind, f"its factory has not come back after {MAKE_SECONDS:g} seconds")
        if errand.error:
            self._errands.pop(name, None)
            raise self._unusable(kind, f"its factory raised {type(errand.error).__name__}") from errand.error
        return self._checked(kind, errand.result)

    def _begin(self, name: str) -> Errand:
        """Let a factory begin, in a thread: the event loop must not wait for it."""
        factory, context = self._providers.get("job", name).factory, ProviderContext(settings=self._settings)
        with Errands() as errands:
            self._errands[name] = errands.begin(lambda: factory(context))
        return self._errands[name]

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
            f"the job kind '{kind}'{whose} cannot be used: {cause}; the log has the details, its author can mend it"
        )
