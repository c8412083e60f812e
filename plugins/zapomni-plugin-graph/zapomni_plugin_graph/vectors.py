"""Vectors of entities' names and of questions, by the store's embedder. Where it fails, words still find."""

import logging
from typing import Any

from zapomni_core.plugin import DatabaseError, Embedder, EmbedderIdentity, JobProgress, MemoryEngine

log = logging.getLogger("zapomni.plugin.graph")

TOGETHER = 500


async def fill_vectors(engine: MemoryEngine, progress: JobProgress) -> bool:
    """Give a vector to every entity that has none; whether all have one now."""
    identity = await engine.memories.embedder()
    if identity is None or not await engine.graph.without_vector(identity, 1):
        return True  # and the embedder need not be loaded

    async def fill(embedder: Embedder) -> bool:
        made = 0
        while pending := await engine.graph.without_vector(embedder.identity, TOGETHER):
            vectors = await embedder.embed([name for _, name in pending])
            ids = [entity_id for entity_id, _ in pending]
            await engine.graph.fill(embedder.identity, list(zip(ids, vectors, strict=True)))
            made += len(pending)
            await progress(None, f"made vectors of {made:,} entities")
        return True

    try:
        return await engine.with_embedder(fill)
    except DatabaseError:
        raise
    except Exception:  # whatever an embedder raises, what was read is kept
        log.exception("entities_not_embedded")
        return False


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
