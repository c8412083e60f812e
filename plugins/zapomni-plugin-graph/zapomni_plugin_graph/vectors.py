"""Vectors of entities' names and of questions, by the store's embedder. Where it fails, words still find."""

import logging
from typing import Any

from zapomni_core.plugin import DatabaseError, Embedder, EmbedderIdentity, JobProgress, MemoryEngine

log = logging.getLogger("zapomni.plugin.graph")


async def fill_vectors(engine: MemoryEngine, progress: JobProgress) -> bool:
    """Give a vector to every entity that has none; whether all have one now."""

    async def tell(made: int) -> None:
        await progress(None, f"made vectors of {made:,} entities")

    try:
        await engine.embed_entities(tell)
    except DatabaseError:
        raise
    except Exception:  # whatever an embedder raises, what was read is kept
        log.exception("entities_not_embedded")
        return False
    return True


async def embed_question(engine: MemoryEngine, question: str) -> tuple[EmbedderIdentity, Any] | None:
    """The vector of a question and whose it is; None where the embedder fails."""

    async def embed(embedder: Embedder) -> tuple[EmbedderIdentity, Any]:
        return embedder.identity, (await embedder.embed([question], query=True))[0]

    try:
        return await engine.with_embedder(embed)
    except DatabaseError:
        raise
    except Exception:  # whatever an embedder raises, words still find
        log.exception("question_not_embedded")
        return None
