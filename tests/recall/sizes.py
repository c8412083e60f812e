"""Fits confidence on stores of all sizes, drawn from the tuning corpus. Run: .venv/bin/python tests/recall/sizes.py.

Among few memories nothing comes near a question by chance; among many, something always does. So every question is asked of
random memories, two to all of them, its answer among them; by vectors and by words, without conversations.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from zapomni_core.lexicon import translations
from zapomni_core.search.confidence import BEST_HITS, NOTHING_BELOW, WEAK_BELOW, luck
from zapomni_core.search.lexical import K1, TRANSLATED, B, inverse_frequency
from zapomni_core.search.searching import question_vector

from tests.recall.harness import CORPUS, Asked, questions, rows
from tests.recall.report import percent, table
from tests.recall.tune import TUNING, Floats, fit
from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.terms import query_terms, query_words, terms

SIZES = (2, 5, 15, 50, 150, 10_000)
LONGEST = 800


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question that was asked of so many memories, and what confidence is made of."""

    asked: Asked
    size: int
    features: list[float]


async def draw(corpus: Path) -> list[Drawn]:
    """Every question of a corpus but close ones and those about conversations, asked of stores of all sizes."""
    embedder, chance = DefaultEmbedder(), np.random.default_rng(1)
    kept = rows("memories.jsonl", corpus)
    texts = [row["text"][:LONGEST] for row in kept]
    vectors, words = await embedder.embed(texts), [Counter(terms(text)) for text in texts]
    places = {row["key"]: place for place, row in enumerate(kept)}
    drawn = []
    for asked in questions(corpus):
        if asked.close or asked.kind == "conversation":
            continue
        vector, answers = await question_vector(embedder, asked.text), [places[key] for key in sorted(asked.answers)]
        others = np.setdiff1d(np.arange(len(texts)), answers)
        for size in SIZES:
            count = min(size - bool(answers), len(others))
            some = [*chance.choice(others, count, replace=False), *answers[:1]]
            covers = _covers(asked, [words[one] for one in some], below=embedder.profile.unclear_below)
            cosines = vectors[some] @ vector
            best = np.argsort(-(covers + cosines))[:BEST_HITS]
            features = [1.0, float(covers[best].max()), float(cosines[best].max()), luck(len(some))]
            drawn.append(Drawn(asked, size, features))
    await embedder.close()
    return drawn


def _covers(asked: Asked, words: Sequence[Counter[str]], *, below: float) -> Floats:
    """How much of a question the words of each memory cover; with translations, where they cover too little."""
    counts = {term: np.array([float(one[term]) for one in words]) for term in query_terms(asked.text)}
    covers = _covered(counts, words)
    if covers.max() >= below:
        return covers
    for term, alike in translations(query_words(asked.text)).items():
        others = [max((min(one[part] for part in word) for word in alike), default=0) for one in words]
        counts[term] = np.where(counts[term], counts[term], TRANSLATED * np.array(others))
    return _covered(counts, words)


def _covered(counts: Mapping[str, Floats], words: Sequence[Counter[str]]) -> Floats:
    lengths = np.array([sum(one.values()) for one in words])
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    scores, ideal = np.zeros(len(words)), 0.0
    for often in counts.values():
        weight = inverse_frequency(len(words), int(np.count_nonzero(often)))
        ideal += weight
        scores += weight * often * (K1 + 1) / (often + norms)
    return np.minimum(1.0, scores / ideal) if ideal else scores


def shares(drawn: Sequence[Drawn], coefficients: Floats) -> str:
    """By size, how many questions with an answer are kept, and how many without are given one all the same."""
    lines = []
    for size in SIZES:
        sure = {True: list[float](), False: list[float]()}
        for one in drawn:
            if one.size == size:
                sure[bool(one.asked.answers)].append(float(1 / (1 + np.exp(-np.dot(one.features, coefficients)))))
        cells = [
            percent(fmean(value >= least for value in sure[answered]))
            for answered in (True, False)
            for least in (NOTHING_BELOW, WEAK_BELOW)
        ]
        lines.append([f"{size:,} at most", *cells])
    kinds = [f"{kind} at {least}" for kind in ("kept", "false") for least in (NOTHING_BELOW, WEAK_BELOW)]
    return table(["memories", *kinds], lines)


async def main() -> None:
    """Print the fit on one corpus, and what the coefficients in use do on both."""
    profile = DefaultEmbedder.profile
    now = [profile.confidence_bias, profile.confidence_cover, profile.confidence_cosine, profile.confidence_luck]
    tuning = await draw(TUNING)
    groups = [str(one.size) if one.asked.answers else "" for one in tuning]
    fitted = np.round(fit(np.array([one.features for one in tuning]), groups), 2).tolist()
    told = [f"bias, cover, cosine, luck: {now} now, fitted {fitted}"]
    told += [shares(some, np.array(now)) for some in (tuning, await draw(CORPUS))]
    sys.stdout.write("\n\n".join(told) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
