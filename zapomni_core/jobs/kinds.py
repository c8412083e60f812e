"""Kinds of jobs: what a provider of kind `job` makes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from zapomni_core.provider import ProviderContext, Providers
from zapomni_core.settings import Settings
from zapomni_db.records import Job

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine

JobProgress = Callable[[float | None, str], Awaitable[None]]


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

    def __init__(self, providers: Providers, settings: Settings, extractor: str = "rules") -> None:
        self._providers = providers
        self._settings = settings
        self._extractor = extractor
        self._made: dict[str, JobKind] = {}

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

    def get(self, kind: str) -> JobKind:
        """What does the jobs of a kind, whichever extractor they are for."""
        name = kind.partition(":")[0]
        if name not in self._made:
            self._made[name] = self._providers.get("job", name).factory(ProviderContext(settings=self._settings))
        return self._made[name]
