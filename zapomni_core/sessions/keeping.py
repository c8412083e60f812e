"""Keeps a text as a memory of a kind: found by its words at once, by its meaning as soon as its vector is made."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from zapomni_core.adding import MOST_AT_ONCE, prepare_for_words
from zapomni_core.errors import ProcessingError
from zapomni_core.intake import Particulars
from zapomni_core.jobs.embedding import KIND, embed_soon

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Added, EmbedderIdentity, NewJob, NewMemory

_USED = {"tags", "source", "author", "timestamp", "language"}
_NONE = Particulars()

log = logging.getLogger("zapomni.sessions")

Write = Callable[["NewMemory", "EmbedderIdentity"], Awaitable["Added"]]


async def keep(engine: "MemoryEngine", text: str, metadata: Mapping[str, Any], write: Write) -> "Added":
    """What became of a text that was given to the store. The embedder is not loaded for it: a job makes the vector.

    Where nobody does such jobs, the vector is made before this returns; the text is kept by then, and stays.
    """
    later = engine.does_jobs(KIND)
    jobs = (embed_soon(),) if later else ()
    added = await engine.with_embedder(partial(_add, text, metadata, jobs, write))
    if later:
        engine.look_for_jobs(added.job_ids)
    else:
        await _embed_now(engine)
    return added


async def _add(
    text: str, metadata: Mapping[str, Any], jobs: tuple["NewJob", ...], write: Write, embedder: "Embedder"
) -> "Added":
    given = (text, metadata, particulars_of(metadata), embedder, jobs)
    is_short = len(text) <= MOST_AT_ONCE
    memory = prepare_for_words(*given) if is_short else await asyncio.to_thread(prepare_for_words, *given)
    return await write(memory, embedder.identity)


async def _embed_now(engine: "MemoryEngine") -> None:
    from zapomni_core.reindexing import embed_pending

    try:
        await engine.with_embedder(lambda embedder: embed_pending(engine.memories, embedder, engine.workspace))
    except ProcessingError:
        log.exception("not_embedded")  # found by its words; whatever is stored next tries again


def particulars_of(metadata: Mapping[str, Any]) -> Particulars:
    """What the search uses of metadata that may be anything: what does not fit is kept, and not used."""
    if _USED.isdisjoint(metadata):
        return _NONE
    return Particulars(
        tags=_tags(metadata.get("tags")),
        source=_text(metadata.get("source")),
        author=_text(metadata.get("author")),
        timestamp=_timestamp(metadata.get("timestamp")),
        language=_text(metadata.get("language")) or None,
    )


def _tags(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(one for one in values if isinstance(one, str) and one))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _timestamp(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
