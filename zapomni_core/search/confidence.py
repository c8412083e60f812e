"""How sure the search is that there is an answer among the hits."""

import math

import numpy as np

from zapomni_core.models import Verdict
from zapomni_core.search.ranking import Question, Ranked, exact_cosines
from zapomni_db.arrays import Vector
from zapomni_db.store import Snapshot

BEST_HITS = 5
SAMPLE = 400
LEAST_SAMPLE = 30
FEWEST = 2
WEAK_BELOW = 0.5
NOTHING_BELOW = 0.2


def confidence(snapshot: Snapshot, ranked: Ranked, question: Question) -> float:
    """A number in [0, 1]; by the words alone where there is no vector."""
    if not len(ranked.rows):
        return 0.0
    best, profile = ranked[:BEST_HITS], question.profile
    cover = question.lexical.cover(best.lexical)
    known = np.empty(0) if best.cosines is None else best.cosines[~np.isnan(best.cosines)]
    if not len(known) or question.vector is None:
        return cover
    cosine = float(known.max())
    searched = snapshot.chunks if question.mask is None else int(np.count_nonzero(question.mask))
    logit = profile.confidence_bias + profile.confidence_cover * cover + profile.confidence_cosine * cosine
    logit += profile.confidence_luck * luck(searched)
    if profile.confidence_z:
        logit += profile.confidence_z * _stand_out(snapshot, question.vector, cosine)
    return _sigmoid(logit)


def luck(chunks: int) -> float:
    """How near the nearest of so many comes by chance, in standard deviations: what is near among few means more."""
    return math.sqrt(2 * math.log(max(chunks, FEWEST)))


def verdict(confidence: float) -> Verdict:
    """The confidence in a word."""
    if confidence < NOTHING_BELOW:
        return "nothing relevant"
    return "weak" if confidence < WEAK_BELOW else "good"


def _stand_out(snapshot: Snapshot, vector: Vector, cosine: float) -> float:
    """By how many standard deviations a cosine stands out of the store's; nothing where there are too few to tell."""
    rows = snapshot.sample(SAMPLE)
    if len(rows) < LEAST_SAMPLE:
        return 0.0
    others = exact_cosines(snapshot, rows, vector)
    others = others[~np.isnan(others)]
    if len(others) < LEAST_SAMPLE:
        return 0.0
    spread = float(others.std())
    return (cosine - float(others.mean())) / spread if spread else 0.0


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))
