"""The kind of job that makes vectors: of what was kept without, so that nobody who stores something waits for the embedder."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from zapomni_core.errors import ConfigurationError, ProcessingError
from zapomni_core.jobs.kinds import JobProgress, Postpone
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import Job, NewJob

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine

KIND = "embed"
AGAIN = "again"
SOON = timedelta(seconds=0.5)
"""What is stored within this time is embedded together."""
LATER = timedelta(seconds=3)
AWAY_SECONDS = 60.0


def embed_soon() -> NewJob:
    """One job for everything that is stored until it is done."""
    return NewJob(kind=KIND, key=KIND, not_before=datetime.now(UTC) + SOON)


class EmbedPending:
    """Makes the vectors that the job's workspace waits for."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:
        from zapomni_core.reindexing import embed_pending

        async def tell(done: int, total: int) -> None:
            await progress(done / total, f"embedded {done} of {total} chunks")

        memories, workspace = engine.memories, engine.workspace
        try:
            made = await engine.with_embedder(lambda embedder: embed_pending(memories, embedder, workspace, tell))
        except ProcessingError as error:
            raise Postpone(AWAY_SECONDS, "the embedder fails") from error
        except (ConfigurationError, EmbedderMismatchError) as error:
            raise Postpone(AWAY_SECONDS, "this process does not have the embedder of the workspace") from error
        if job.key != AGAIN:
            # What is stored now counts as part of this job, which has looked for the last time: so somebody looks again.
            await engine.submit([NewJob(kind=KIND, key=AGAIN, not_before=datetime.now(UTC) + LATER)])
        return {"chunks": made}
