"""A closer look at the best hits where words tell too little: in other words, or in another language.

One vector of a whole text blurs which of its details a question is about. So every short run of the question's tokens is
compared with all runs of each hit, and the hits that hold something near to more of them come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zapomni_core.embedding import Embedder, FragmentEmbedder, Profile
from zapomni_core.models import SearchHit
from zapomni_core.search.lexical import Scores
from zapomni_core.search.ranking import Ranked
from zapomni_db.arrays import Rows, Vector

MOST_HITS = 20
LEAST_HITS = 3
LEAST_SPREAD = 1e-3
"""What runs of a question that all hits hold alike are divided by: they say nothing, not anything at all."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Which hits come first, by their numbers, and the score of each, in the new order."""

    order: Rows
    scores: Scores


def can_change(ranked: Ranked) -> bool:
    """Whether a closer look can change anything: several hits, and vectors."""
    return len(ranked.rows) > 1 and bool(ranked.meaning_part.any())


async def align(embedder: Embedder, query: str, hits: Sequence[SearchHit], ranked: Ranked) -> Aligned | None:
    """The hits in their order after a closer look at the best of them; None if the embedder offers none."""
    if not isinstance(embedder, FragmentEmbedder):
        return None
    texts = _within(embedder, hits)
    pieces = await embedder.fragments([query, *texts])
    return _joined(ranked, agreement(pieces[0], pieces[1:]), embedder.profile) if pieces else None


def agreement(asked: Vector, told: Sequence[Vector]) -> Scores:
    """By how much each text agrees with a question more than the others do, in the mean over the question's runs."""
    nearest = np.array([(runs @ asked.T).max(axis=0) for runs in told], np.float64)
    above = nearest - nearest.mean(axis=0)
    return np.asarray((above / (nearest.std(axis=0) + LEAST_SPREAD)).mean(axis=1))


def _within(embedder: Embedder, hits: Sequence[SearchHit]) -> list[str]:
    """The texts of the best hits that fit into what may be looked at, and a few in any case."""
    texts = [hit.text for hit in hits[:MOST_HITS]]
    sizes = np.cumsum([embedder.tokens(text) for text in texts])
    return texts[: max(LEAST_HITS, int(np.searchsorted(sizes, embedder.profile.aligned_tokens, side="right")))]


def _joined(ranked: Ranked, agreement: Scores, profile: Profile) -> Aligned:
    """Agreement and what words tell count like a cosine. Hits that were not looked at follow, with no higher score."""
    looked_at, others = ranked[: len(agreement)], ranked[len(agreement) :]
    near = _known(looked_at) + profile.alignment_weight * agreement + profile.told_weight * looked_at.told_by_words
    scores = np.exp((near - near.max()) / profile.cosine_scale)
    order = np.argsort(-scores, kind="stable")
    rest = np.minimum(others.scores, scores.min())
    return Aligned(
        np.concatenate([order, np.arange(len(agreement), len(ranked.rows))]), np.concatenate([scores[order], rest])
    )


def _known(ranked: Ranked) -> Scores:
    """The cosines; whoever has no vector yet is as far as the farthest."""
    if ranked.cosines is None:
        return np.zeros(len(ranked.rows))
    return np.where(np.isnan(ranked.cosines), np.nanmin(ranked.cosines, initial=1.0), ranked.cosines)
