"""Measures how reliable the confidence is, and fits its constants."""

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.search import Asked, Question, Set

Floats = NDArray[np.float64]

SIZES = (1, 3, 10, 30)
CLOSE = "close"
"""A kind of questions whose subject is stored but whose answer is not; neither words nor vectors can tell."""
STORES = 30
"""The number of small stores of each size that are drawn from a set."""
EDGES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
NEWTON_STEPS = 30


async def small_stores(own: Set) -> list[Question]:
    """Questions for small stores of neighbouring memories: one answered and one unanswered per store."""
    chance = random.Random(1)
    return [
        question for size in SIZES for number in range(STORES) for question in await _draw(own, size, number, chance)
    ]


async def _draw(own: Set, size: int, number: int, chance: random.Random) -> list[Question]:
    row = chance.choice(own.answered)
    among = [memory for memory in own.memories if memory["workspace"] == row["workspace"]]
    place = [memory["id"] for memory in among].index(chance.choice(row["answers"]))
    start = max(0, min(place - chance.randrange(size), len(among) - size))
    target = f"small-{size}-{number}"
    ids = {memory["id"]: await own.add(target, memory) for memory in among[start : start + size]}
    others = [
        one for one in own.answered if one["workspace"] == row["workspace"] and ids.keys().isdisjoint(one["answers"])
    ]
    answers = frozenset(ids[one] for one in row["answers"] if one in ids)
    unanswered = [Question(target, one["question"], frozenset(), "small") for one in others and [chance.choice(others)]]
    return [Question(target, row["question"], answers, "small"), *unanswered]


def fit(groups: Sequence[Sequence[Asked]], *, by_words: bool = False) -> list[float]:
    """Weights of bias, cover, cosine and logarithm of the chunks; of bias and cover alone `by_words`.

    Each group counts the same, however many questions it has. Questions without a vector are judged by words only.
    """
    if not by_words:
        groups = [[one for one in group if one.cosine is not None] for group in groups]
    features = np.array([_features(one, by_words=by_words) for group in groups for one in group])
    answered = np.array([one.answered for group in groups for one in group], np.float64)
    shares = np.concatenate([np.full(len(group), 1 / len(group)) for group in groups])
    weights = np.zeros(features.shape[1])
    for _ in range(NEWTON_STEPS):
        sure = 1 / (1 + np.exp(-features @ weights))
        curvature = features.T @ (features * (shares * sure * (1 - sure))[:, None])
        weights += np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), features.T @ (shares * (answered - sure)))
    return [float(weight) for weight in weights]


def _features(one: Asked, *, by_words: bool) -> list[float]:
    if by_words:
        return [1, one.cover]
    return [1, one.cover, one.cosine or 0.0, float(np.log(max(1, one.chunks)))]


def bins(groups: Sequence[Sequence[Asked]]) -> list[tuple[float, float, int, float, float]]:
    """From, to, questions, mean confidence, share answered; each group counts the same."""
    sure = np.array([one.confidence for group in groups for one in group])
    answered = np.array([one.answered for group in groups for one in group], np.float64)
    shares = np.concatenate([np.full(len(group), 1 / len(group)) for group in groups])
    found = []
    for low, high in pairwise(EDGES):
        inside = (sure >= low) & ((sure < high) | (high == 1))
        if inside.any():
            weights = shares[inside] / shares[inside].sum()
            found.append(
                (low, high, int(inside.sum()), float(weights @ sure[inside]), float(weights @ answered[inside]))
            )
    return found
