"""Asks the questions of the corpus of a real store, with each step of the pipeline, and counts what is found."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

import numpy as np
from zapomni_core.search.confidence import confidence
from zapomni_core.search.lexical import Lexical, Postings, inverse_frequency, score_words, translated
from zapomni_core.search.ranking import Question, rank
from zapomni_core.search.searching import question_vector, without_common_words
from zapomni_db.sqlite.snapshot import SQLiteSnapshot

from zapomni_core.embedding import DefaultEmbedder, Profile
from zapomni_core.engine import MemoryEngine
from zapomni_core.search import searching
from zapomni_core.terms import query_terms
from zapomni_db.arrays import Rows, Vector
from zapomni_db.sqlite import SQLiteStore

CORPUS = Path(__file__).parent / "corpus"
PLAIN = Path(__file__).parent / "plain"
DEPTH = 10

BM25, NEIGHBOURS, AUTHOR, VECTORS = "BM25", "+ neighbours", "+ author", "+ vectors"
PRUNING, TELLING, TRANSLATIONS = "+ pruning", "+ telling words", "+ translations"
CLOSER, FULL = "+ closer look", "+ replies = all"
VECTORS_ONLY = "vectors only"
STEPS = (BM25, NEIGHBOURS, AUTHOR, VECTORS, PRUNING, TELLING, TRANSLATIONS, CLOSER, FULL, VECTORS_ONLY)
"""Each of the first nine adds something to the one before; the ninth is the search as it is."""

TEXTBOOK_K1, TEXTBOOK_B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the corpus. Any one of its answers counts; `close` is one without, on a topic that is stored."""

    key: str
    text: str
    answers: frozenset[str]
    kind: str
    close: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question brought: by step, the keys of the memories found, best first; and how sure the search is."""

    asked: Asked
    found: Mapping[str, Sequence[str]]
    confidence: float
    confidence_by_words: float

    def place(self, step: str) -> float:
        """Where the first answer stands, from 1; infinity where there is none among the first ten."""
        return next((place for place, key in enumerate(self.found[step], 1) if key in self.asked.answers), math.inf)


@dataclass(frozen=True, slots=True)
class Recall:
    """What a step finds: the shares of questions with an answer first and among five, and the mean of 1 / its place."""

    first: float
    five: float
    reciprocal: float

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], step: str) -> "Recall":
        """What a step finds of questions that have answers."""
        places = [outcome.place(step) for outcome in outcomes]
        return cls(
            first=fmean(place == 1 for place in places),
            five=fmean(place <= 5 for place in places),
            reciprocal=fmean(1 / place for place in places),
        )


def rows(name: str, corpus: Path = CORPUS) -> list[dict[str, Any]]:
    """A file of a corpus."""
    return [json.loads(line) for line in (corpus / name).read_text(encoding="utf-8").splitlines()]


def questions(corpus: Path = CORPUS) -> list[Asked]:
    """The questions of a corpus."""
    return [
        Asked(row["key"], row["question"], frozenset(row["answers"]), row["kind"], row.get("close", False))
        for row in rows("questions.jsonl", corpus)
    ]


async def ask_everything(folder: Path, *corpora: Path) -> list[list[Outcome]]:
    """Store a corpus in a new store in this folder and ask everything of it, then the next one beside it, and so on."""
    embedder, store = DefaultEmbedder(), SQLiteStore(folder / "recall.db")
    engine = MemoryEngine(store=store, embedder=embedder)
    keys: dict[str, str] = {}
    asked = []
    try:
        for corpus in corpora:
            keys |= await fill(engine, corpus)
            asked.append([await _ask(engine, store, embedder, keys, one) for one in questions(corpus)])
    finally:
        await engine.close()
    return asked


async def _ask(
    engine: MemoryEngine, store: SQLiteStore, embedder: DefaultEmbedder, keys: Mapping[str, str], asked: Asked
) -> Outcome:
    kept: list[Postings] = [{}]
    translating = mock.patch.object(searching, "translated", partial(_kept, kept))
    with translating, mock.patch.object(searching, "with_replies", wraps=searching.with_replies) as last_step:
        result = await engine.search_memory(asked.text, DEPTH)
    pruned = await store.read(engine.workspace, lambda snapshot: meaning_of(snapshot, asked.text))
    whole, rare = await embedder.embed([asked.text, pruned], query=True)
    telling = await question_vector(embedder, pruned)
    steps = _Steps(asked.text, whole, rare, telling, kept[-1], embedder.profile)
    found, by_words = await store.read(engine.workspace, steps.take)
    found[CLOSER] = [hit.memory_id for hit in last_step.call_args.args[0][:DEPTH]]
    found[FULL] = [hit.memory_id for hit in result.hits]
    by_key = {step: [keys[one] for one in ids] for step, ids in found.items()}
    return Outcome(asked, by_key, result.confidence, by_words)


def _kept(kept: list[Postings], *arguments: Any) -> Postings:
    """What translations add, which the search asked for; kept to be looked at."""
    kept.append(translated(*arguments))
    return kept[-1]


async def fill(engine: MemoryEngine, corpus: Path) -> dict[str, str]:
    """Store the memories of a corpus. Their keys by their ids."""
    keys = {}
    for row in rows("memories.jsonl", corpus):
        metadata = row["metadata"] | ({"language": row["language"]} if row["language"] else {})
        keys[(await engine.add_memory(row["text"], metadata)).memory_id] = row["key"]
    return keys


def meaning_of(snapshot: SQLiteSnapshot, text: str) -> str:
    """What the vector of a question is made of."""
    return without_common_words(snapshot, text, snapshot.postings(query_terms(text))) or text


@dataclass(frozen=True, slots=True)
class _Steps:
    """One question, ready to be asked of a snapshot with less than the whole pipeline."""

    text: str
    whole: Vector
    pruned: Vector
    telling: Vector
    translated: Postings
    profile: Profile

    def take(self, snapshot: SQLiteSnapshot) -> tuple[dict[str, list[str]], float]:
        """By step, the ids of the memories found; and the confidence where there are no vectors."""
        postings = snapshot.postings(query_terms(self.text))
        lexical = score_words(snapshot, postings)
        by_words, widened = self._question(lexical, None), score_words(snapshot, {**postings, **self.translated})
        rankings = {
            BM25: _by_textbook(snapshot, postings),
            NEIGHBOURS: rank(snapshot, replace(by_words, text="")).rows,
            AUTHOR: rank(snapshot, by_words).rows,
            VECTORS: rank(snapshot, self._question(lexical, self.whole)).rows,
            PRUNING: rank(snapshot, self._question(lexical, self.pruned)).rows,
            TELLING: rank(snapshot, self._question(lexical, self.telling)).rows,
            TRANSLATIONS: rank(snapshot, self._question(widened, self.telling)).rows,
            VECTORS_ONLY: _best(snapshot, snapshot.cosines(np.arange(snapshot.chunks), self.telling)),
        }
        ids = {step: snapshot.identifiers(snapshot.places[chosen]) for step, chosen in rankings.items()}
        all_words = self._question(widened, None)
        return ids, confidence(snapshot, rank(snapshot, all_words), all_words)

    def _question(self, lexical: Lexical, vector: Vector | None) -> Question:
        return Question(self.text, lexical, vector, None, DEPTH, self.profile)


def _by_textbook(snapshot: SQLiteSnapshot, postings: Postings) -> Rows:
    """Plain BM25 of chunks by the same terms."""
    scores = np.zeros(snapshot.chunks)
    norms = 1 - TEXTBOOK_B + TEXTBOOK_B * snapshot.lengths / snapshot.lengths.mean()
    for holding, counts in postings.values():
        weight = inverse_frequency(snapshot.chunks, len(holding))
        scores[holding] += weight * counts * (TEXTBOOK_K1 + 1) / (counts + TEXTBOOK_K1 * norms[holding])
    return _best(snapshot, scores, np.flatnonzero(scores))


def _best(snapshot: SQLiteSnapshot, scores: Vector, among: Rows | None = None) -> Rows:
    """The best chunks of the best memories."""
    chosen = np.arange(len(scores)) if among is None else among
    ordered = chosen[np.argsort(-scores[chosen], kind="stable")]
    _, first = np.unique(snapshot.places[ordered], return_index=True)
    return ordered[np.sort(first)[:DEPTH]]


def by_kind(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes of the questions that have answers."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.asked.answers:
            kinds.setdefault(outcome.asked.kind, []).append(outcome)
    return kinds


def mean_over_kinds(outcomes: Iterable[Outcome], step: str) -> Recall:
    """The mean over the kinds, which differ in size."""
    recalls = [Recall.of(some, step) for some in by_kind(outcomes).values()]
    return Recall(
        first=fmean(one.first for one in recalls),
        five=fmean(one.five for one in recalls),
        reciprocal=fmean(one.reciprocal for one in recalls),
    )


def share(outcomes: Iterable[Outcome], holds: Callable[[Outcome], bool]) -> float:
    """For how many of these outcomes something holds."""
    return fmean(holds(outcome) for outcome in outcomes)
