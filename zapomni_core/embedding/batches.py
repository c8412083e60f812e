"""Embeds texts batch by batch: short enough that others get their turn, and that a cancelled call ends soon."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from zapomni_core.embedding.embedder import OnBatch
from zapomni_core.embedding.profile import Profile

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector


async def in_batches(
    texts: Sequence[str],
    encode: Callable[[list[str]], Awaitable["Vector"]],
    profile: Profile,
    *,
    dimension: int,
    query: bool = False,
    on_batch: OnBatch | None = None,
) -> "Vector":
    """The vectors of all texts, in order; `encode` gets one batch at a time, with the profile's prefix before each text."""
    import numpy as np

    vectors = np.empty((len(texts), dimension), dtype=np.float32)
    prefix = profile.query_prefix if query else profile.passage_prefix
    done = 0
    for batch in _batches(texts, profile):
        vectors[done : done + len(batch)] = await encode([prefix + text for text in batch])
        done += len(batch)
        if on_batch:
            await on_batch(done, len(texts))
    return vectors


def _batches(texts: Sequence[str], profile: Profile) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == profile.batch_texts or characters + len(text) > profile.batch_characters):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch
