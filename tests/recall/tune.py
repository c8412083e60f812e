"""Weighs the constants of the search on the tuning corpus, as Markdown. Run: .venv/bin/python tests/recall/tune.py.

Every question is asked once; what its words and its vector say of the candidates is kept, and only joined anew for each
choice of weights. The recall corpus is never read here: constants are chosen on one corpus and tested on the other.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from zapomni_core.search.confidence import BEST_HITS, NOTHING_BELOW, SAMPLE, WEAK_BELOW, luck
from zapomni_core.search.lexical import score_words
from zapomni_core.search.ranking import Question, exact_cosines
from zapomni_core.search.searching import question_vector
from zapomni_db.sqlite.snapshot import SQLiteSnapshot

from tests.recall.harness import DEPTH, Asked, ask_everything, fill, meaning_of, questions, rows
from tests.recall.report import percent, report, table
from zapomni_core.embedding import DefaultEmbedder, Profile
from zapomni_core.engine import MemoryEngine
from zapomni_core.search import ranking
from zapomni_core.terms import query_terms
from zapomni_db.arrays import Rows, Vector
from zapomni_db.sqlite import SQLiteStore

TUNING = Path(__file__).parent / "tuning"

LOWS, HIGHS = (0.0, 0.1, 0.2, 0.3), (0.5, 0.6, 0.7, 0.8)
STARTS, ENDS = (0.0, 0.1, 0.2), (0.4, 0.5, 0.6, 0.7)
SHOWN = 8
FOLDS = 5
NEWTON_STEPS = 30
RIDGE = 1e-3
EVEN = (NOTHING_BELOW + WEAK_BELOW) / 2
"""The confidence at even odds: the middle of what is called weak."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of the words: `low` up to one cover, `high` from another one on, and in a line between them."""

    low: float
    high: float
    start: float
    end: float

    def alpha(self, cover: float) -> float:
        return self.low + (self.high - self.low) * min(1.0, max(0.0, (cover - self.start) / (self.end - self.start)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What words and vector of one question say of its candidates: parallel arrays, the chunks of a memory together."""

    asked: Asked
    language: str
    words: Floats
    meaning: Floats
    bonus: Floats
    covers: Floats
    cosines: Floats
    starts: Rows
    answers: NDArray[np.bool_]
    mean: float
    spread: float
    chunks: int

    @property
    def cover(self) -> float:
        return float(self.covers.max())

    def alpha(self, weights: Weights) -> float:
        """The weight of the words that these weights give here."""
        return weights.alpha(self.cover) * ranking.doubt(self.cosines, DefaultEmbedder.profile)

    def place(self, alpha: float) -> float:
        """Where the first answer stands with this weight of the words, as deep as the test looks."""
        best = np.maximum.reduceat(self._scores(alpha), self.starts)
        if not self.answers.any():
            return np.inf
        place = 1 + int((best > best[self.answers].max()).sum())
        return place if place <= DEPTH else np.inf

    def features(self, alpha: float) -> list[float]:
        """What confidence is made of, from the best hits with this weight of the words."""
        scores = self._scores(alpha)
        ends = [*self.starts[1:], len(scores)]
        best = [start + int(scores[start:end].argmax()) for start, end in zip(self.starts, ends, strict=True)]
        five = sorted(best, key=lambda row: -scores[row])[:BEST_HITS]
        cosine = float(self.cosines[five].max())
        return [1.0, float(self.covers[five].max()), cosine, (cosine - self.mean) / self.spread, luck(self.chunks)]

    def _scores(self, alpha: float) -> Floats:
        return alpha * self.words + (1 - alpha) * self.meaning + self.bonus


async def gather(folder: Path, corpus: Path = TUNING) -> list[Evidence]:
    """Store a corpus in a new store in this folder, and keep what it says to every question."""
    embedder, store = DefaultEmbedder(), SQLiteStore(folder / "tuning.db")
    engine = MemoryEngine(store=store, embedder=embedder)
    languages = {row["key"]: row["language"] for row in rows("questions.jsonl", corpus)}
    try:
        keys, found = await fill(engine, corpus), []
        for asked in questions(corpus):
            text = await store.read(engine.workspace, lambda snapshot, asked=asked: meaning_of(snapshot, asked.text))
            vector = await question_vector(embedder, text)
            one = _Asking(asked, languages[asked.key], vector, keys)
            found.append(await store.read(engine.workspace, one.look))
        return found
    finally:
        await engine.close()


@dataclass(frozen=True, slots=True)
class _Asking:
    """One question, ready to be asked of a snapshot."""

    asked: Asked
    language: str
    vector: Vector
    keys: dict[str, str]

    def look(self, snapshot: SQLiteSnapshot) -> Evidence:
        lexical = score_words(snapshot, snapshot.postings(query_terms(self.asked.text)))
        only_words = Profile(alpha_low=1, alpha_high=1)
        question = Question(self.asked.text, lexical, self.vector, None, DEPTH, only_words)
        chosen, cosines = ranking._candidates(snapshot, question)
        by_words = ranking._fused(snapshot, question, chosen, cosines)
        only_meaning = replace(question, profile=Profile(alpha_low=0, alpha_high=0))
        by_meaning = ranking._fused(snapshot, only_meaning, chosen, cosines)
        order = np.argsort(snapshot.places[chosen], kind="stable")
        places, starts = np.unique(snapshot.places[chosen[order]], return_index=True)
        others = exact_cosines(snapshot, snapshot.sample(SAMPLE), self.vector)
        return Evidence(
            asked=self.asked,
            language=self.language,
            words=by_words.words_part[order],
            meaning=by_meaning.meaning_part[order],
            bonus=ranking.AUTHOR_BONUS * by_words.by_author[order],
            covers=np.minimum(1, by_words.lexical[order] / (lexical.ideal or 1)),
            cosines=np.asarray(cosines)[order],
            starts=starts,
            answers=np.array([self.keys[one] in self.asked.answers for one in snapshot.identifiers(places)]),
            mean=float(others.mean()),
            spread=float(others.std()),
            chunks=snapshot.chunks,
        )


def current() -> Weights:
    """The weights of the search as it is."""
    profile = DefaultEmbedder.profile
    return Weights(profile.alpha_low, profile.alpha_high, 0.0, ranking.FULL_COVER)


def grid() -> list[Weights]:
    """All choices of weights that are tried, and the current ones."""
    tried = [Weights(*chosen) for chosen in product(LOWS, HIGHS, STARTS, ENDS)]
    return tried if current() in tried else [*tried, current()]


@dataclass(frozen=True, slots=True)
class Found:
    """What some weights find, by kind: an answer first, an answer among five, and the mean of 1 / its place."""

    first: dict[str, float]
    five: dict[str, float]
    reciprocal: dict[str, float]

    @classmethod
    def by(cls, weights: Weights, evidence: Iterable[Evidence]) -> "Found":
        places: dict[str, list[float]] = {}
        for one in evidence:
            if one.asked.answers:
                places.setdefault(one.asked.kind, []).append(one.place(one.alpha(weights)))
        kinds = sorted(places.items())
        return cls(
            first={kind: fmean(place == 1 for place in some) for kind, some in kinds},
            five={kind: fmean(place <= 5 for place in some) for kind, some in kinds},
            reciprocal={kind: fmean(1 / place for place in some) for kind, some in kinds},
        )

    @property
    def means(self) -> tuple[float, float, float]:
        """The means over the kinds, which differ in size."""
        return fmean(self.first.values()), fmean(self.five.values()), fmean(self.reciprocal.values())


def weights_report(evidence: Sequence[Evidence]) -> str:
    """The best weights by the sum of the three means, and where the current ones stand."""
    found = {weights: Found.by(weights, evidence) for weights in grid()}
    ordered = sorted(found, key=lambda weights: -sum(found[weights].means))
    shown = list(dict.fromkeys([*ordered[:SHOWN], current(), *(_best_by(found, measure) for measure in range(3))]))
    head = ["place", "words from", "to", "cover from", "to", "R@1", "R@5", "MRR"]
    lines = [
        [
            str(1 + ordered.index(one)),
            f"{one.low}", f"{one.high}", f"{one.start}", f"{one.end}" + (" (current)" if one == current() else ""),
            *map(percent, found[one].means),
        ]
        for one in shown
    ]  # fmt: skip
    best, now = found[ordered[0]], found[current()]
    kinds = [
        [kind, *map(percent, (now.first[kind], best.first[kind], now.five[kind], best.five[kind]))]
        for kind in now.first
    ]
    return table(head, lines) + "\n\n" + table(["kind", "R@1 now", "R@1 best", "R@5 now", "R@5 best"], kinds)


def _best_by(found: dict[Weights, Found], measure: int) -> Weights:
    return max(found, key=lambda weights: found[weights].means[measure])


def confidence_report(evidence: Sequence[Evidence]) -> str:
    """Confidence as it is, and fitted to tell questions with an answer from those off topic; close ones had no say."""
    features = np.array([one.features(one.alpha(current())) for one in evidence])
    told = np.array([not one.asked.close for one in evidence])
    groups = [one.asked.kind if one.asked.answers else "" for one in evidence if not one.asked.close]
    profile = DefaultEmbedder.profile
    now = [profile.confidence_bias, profile.confidence_cover, profile.confidence_cosine, profile.confidence_z]
    coefficients = {"now": np.array([*now, profile.confidence_luck])}
    lines = []
    for name, kept in (("fitted", [1, 1, 1, 1, 0]), ("without z", [1, 1, 1, 0, 0])):  # one store has one luck
        coefficients[name] = fit(features[told] * kept, groups)
        held_out = percent(_held_out(features[told] * kept, groups))
        lines.append(f"{name}: {np.round(coefficients[name], 2).tolist()}, AUC of {FOLDS} held-out parts {held_out}")
    sure = {name: _sigmoid(features @ some) for name, some in coefficients.items()}
    head = f"bias, cover, cosine, z: {now} now; " + "; ".join(lines)
    return "\n\n".join([head, _shares(evidence, sure), _by_language(evidence, sure)])


def fit(features: Floats, groups: Sequence[str]) -> Floats:
    """Logistic coefficients by Newton's method, for groups of questions of which one, "", has no answers.

    Every kind of question has the same weight, however many were asked, and all of them together so much more or less than
    those without an answer that even odds come out as the middle of what is called weak.
    """
    kinds = np.array(groups)
    positive = kinds != ""
    shares = {kind: EVEN / (len(set(groups)) - 1) if kind else 1 - EVEN for kind in groups}
    weights = np.array([len(kinds) * shares[kind] / (kinds == kind).sum() for kind in groups])
    coefficients = np.zeros(features.shape[1])
    for _ in range(NEWTON_STEPS):
        sure = _sigmoid(features @ coefficients)
        slope = features.T @ (weights * (positive - sure)) - RIDGE * coefficients
        curve = (features * (weights * sure * (1 - sure))[:, None]).T @ features + RIDGE * np.eye(len(coefficients))
        coefficients += np.linalg.solve(curve, slope)
    return coefficients


def area(positive: Floats, negative: Floats) -> float:
    """In how many pairs the positive one is surer; a tie is half."""
    differences = positive[:, None] - negative[None, :]
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def _held_out(features: Floats, groups: Sequence[str]) -> float:
    """The mean area on parts that the coefficients were not fitted on."""
    parts, positive = np.arange(len(groups)) % FOLDS, np.array(groups) != ""
    areas = []
    for part in range(FOLDS):
        here = parts == part
        fitted = fit(features[~here], [group for group, left_out in zip(groups, here, strict=True) if not left_out])
        sure = features[here] @ fitted
        areas.append(area(sure[positive[here]], sure[~positive[here]]))
    return fmean(areas)


def _shares(evidence: Sequence[Evidence], sure: Mapping[str, Floats]) -> str:
    groups = _groups(evidence)
    answerable, _, close, off_topic = groups.values()
    lines = []
    for (name, values), least in product(sure.items(), (NOTHING_BELOW, WEAK_BELOW)):
        areas = [area(values[answerable], values[some]) for some in (off_topic, close)]
        shares = [fmean(values[some] >= least) for some in groups.values()]
        lines.append([f"{name}, {least}", *map(percent, [*shares, *areas])])
    return table(["confidence at least", *groups, "AUC off topic", "AUC close"], lines)


def _groups(evidence: Sequence[Evidence]) -> dict[str, NDArray[np.bool_]]:
    answerable = np.array([bool(one.asked.answers) for one in evidence])
    close = np.array([one.asked.close for one in evidence])
    return {
        "answerable kept": answerable,
        "crosslingual kept": np.array([one.asked.kind == "crosslingual" for one in evidence]),
        "close, false answers": close,
        "off topic, false answers": ~answerable & ~close,
    }


def _by_language(evidence: Sequence[Evidence], sure: Mapping[str, Floats]) -> str:
    """Questions in another language than the memory's, by the question's."""
    asked = np.array([one.language if one.asked.kind == "crosslingual" else "" for one in evidence])
    columns = list(product(sure, (NOTHING_BELOW, WEAK_BELOW)))
    lines = []
    for language in sorted(set(asked) - {""}):
        here = asked == language
        shares = [fmean(sure[name][here] >= least) for name, least in columns]
        lines.append([language, str(here.sum()), *map(percent, shares)])
    head = [f"{name}, {least}" for name, least in columns]
    return table(["crosslingual kept, asked in", "questions", *head], lines)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


async def _main(folder: Path) -> str:
    (folder / "asked").mkdir()
    [outcomes] = await ask_everything(folder / "asked", TUNING)
    evidence = await gather(folder)
    return "\n\n".join([report(outcomes), weights_report(evidence), confidence_report(evidence)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(asyncio.run(_main(Path(folder))) + "\n")
