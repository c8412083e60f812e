"""Vectors of entities' names and of questions, by the store's embedder. Where it fails, words still find."""

import logging

from zapomni_core.plugin import DatabaseError, Embedder, Entity, JobProgress, MemoryEngine

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


async def find_by_meaning(engine: MemoryEngine, question: str, limit: int) -> list[tuple[Entity, float]] | None:
    """Entities by words and meaning, with their scores; None where the embedder fails."""

    async def find(embedder: Embedder) -> list[tuple[Entity, float]]:
        vector = (await embedder.embed([question], query=True))[0]
        return await engine.graph.find(engine.workspace, question, vector, embedder.identity, limit)

    try:
        return await engine.with_embedder(find)
    except DatabaseError:
        raise
    except Exception:  # whatever an embedder raises, words still find
        log.exception("question_not_embedded")
        return None
