"""Stores a set of memories, sends its questions to the real engine, and keeps the results."""

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from zapomni_core.config import load
from zapomni_core.embedding import Embedder, OnBatch, know_dimension
from zapomni_core.errors import ProcessingError
from zapomni_core.memory.content import LONGEST_QUERY
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import BUILT_IN, Providers
from zapomni_core.search import answer, score, search
from zapomni_core.search.score import Scored
from zapomni_db.arrays import Vector
from zapomni_db.store import MemoryStore

DEPTH = 10
QUESTIONS_TIMED = 20
POOLED = "pooled"
"""The workspace that holds all memories of a set."""
NEVER_AVERAGED = {"cat5"}

VECTORS, AUTHOR = "vectors", "author bonus"
ALL_HITS = {(answer, "HITS_OF_NOTHING"): DEPTH}
STEPS: dict[str, dict[tuple[Any, str], Any]] = {
    "neighbours": {(score, "NEIGHBOUR_WEIGHTS"): {}},
    "damping of long neighbours": {(score, "SHORT_NEIGHBOUR"): float("inf")},
    "pruning of the question": {(score, "COMMON_SHARE"): 1.0},
    AUTHOR: {},
    VECTORS: {},
    "min(1, cover/.6)": {(score, "FULL_COVER"): 1e-9},
    "identifiers without vectors": {(search, "names_known_identifier"): lambda *_: False},
    "one hit of near-copies": {(answer, "NEARLY_EQUAL"): 1.1},
    "cut at .2 of the best": {(answer, "LEAST_SHARE"): -1e9},
}
"""The replacement in the pipeline that leaves a step out; the embedder does it for the author bonus and the vectors."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of its answers. One without answers is a negative."""

    workspace: str
    text: str
    answers: frozenset[str]
    kind: str


@dataclass(frozen=True, slots=True)
class Asked:
    """The hits of a question: ids of memories, and the inputs of the confidence."""

    question: Question
    found: tuple[str, ...]
    confidence: float
    cover: float
    cosine: float | None
    chunks: int
    seconds: float

    def recall(self, depth: int) -> float:
        """The share of the answers among the first hits."""
        return len(self.question.answers.intersection(self.found[:depth])) / len(self.question.answers)

    def reciprocal(self) -> float:
        """One divided by the place of the first answer."""
        return next((1 / place for place, one in enumerate(self.found, 1) if one in self.question.answers), 0.0)

    def gain(self) -> float:
        """nDCG at ten: all answers count the same."""
        places = [place for place, one in enumerate(self.found[:DEPTH], 1) if one in self.question.answers]
        ideal = range(1, min(DEPTH, len(self.question.answers)) + 1)
        return sum(1 / np.log2(place + 1) for place in places) / sum(1 / np.log2(place + 1) for place in ideal)

    @property
    def answered(self) -> bool:
        """Whether an answer is among the first five hits."""
        return not self.question.answers.isdisjoint(self.found[: answer.BEST_HITS])


NO_EMBEDDER = "none"
"""The search by words alone."""


def make_embedder(name: str) -> Embedder:
    """The embedder with that name, as configured in the user's settings."""
    providers = Providers(BUILT_IN)
    if name == "fastembed":
        import zapomni_plugin_fastembed

        providers.take(name, zapomni_plugin_fastembed.zapomni_providers())
    made: Embedder = providers.make("embedder", "default" if name == NO_EMBEDDER else name, load().settings)
    return made


class CachedEmbedder:
    """An embedder; its vectors are kept in a file between runs."""

    def __init__(self, embedder: Embedder, cache: Path, *, weight: float | None = None) -> None:
        self._embedder = embedder
        self.identity = embedder.identity
        self.profile = embedder.profile if weight is None else replace(embedder.profile, vector_weight=weight)
        self.tokens = embedder.tokens
        self.questions_fail = False
        cache.mkdir(parents=True, exist_ok=True)
        self._kept = sqlite3.connect(cache / f"{self.identity.model.replace('/', '_')}.db")
        self._kept.execute("CREATE TABLE IF NOT EXISTS vector (digest TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> Vector:
        if query and self.questions_fail:
            raise ProcessingError("vectors are left out")
        del on_batch
        prefix = self.profile.query_prefix if query else self.profile.passage_prefix
        digests = [hashlib.sha1((prefix + text).encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        found = {digest: vector for digest in digests if (vector := self._read(digest)) is not None}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if missing:
            made = await self._embedder.embed(list(missing.values()), query=query)
            found.update(zip(missing, made, strict=True))
            rows = [(digest, found[digest].astype(np.float32).tobytes()) for digest in missing]
            self._kept.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
            self._kept.commit()
        return np.stack([found[digest] for digest in digests])

    def _read(self, digest: str) -> Vector | None:
        row = self._kept.execute("SELECT value FROM vector WHERE digest = ?", (digest,)).fetchone()
        return np.frombuffer(row[0], np.float32) if row else None

    async def speed(self, texts: Sequence[str]) -> tuple[float, float]:
        """The median milliseconds of a question, and passages per second, without the file of kept vectors."""
        seconds = []
        for text in texts[:QUESTIONS_TIMED]:
            started = time.perf_counter()
            await self._embedder.embed([text[:100]], query=True)
            seconds.append(time.perf_counter() - started)
        started = time.perf_counter()
        await self._embedder.embed(texts)
        return 1000 * float(np.median(seconds)), len(texts) / (time.perf_counter() - started)

    async def close(self) -> None:
        self._kept.close()
        await self._embedder.close()


@dataclass
class Set:
    """Memories and questions of one folder, in a store. Ids of memories are the store's."""

    name: str
    engine: MemoryEngine
    embedder: CachedEmbedder
    memories: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    _ids: dict[tuple[str, str, str], str] = field(default_factory=dict)

    @classmethod
    async def load(
        cls, folder: Path, store: MemoryStore, cache: Path, *, pooled: bool = False, embedder_name: str = "default"
    ) -> "Set":
        """Store the memories of a folder: each workspace by itself, and chats, or any set if `pooled`, also in one."""
        real = make_embedder(embedder_name)
        await know_dimension(real)
        embedder = CachedEmbedder(real, cache, weight=0.0 if embedder_name == NO_EMBEDDER else None)
        engine = MemoryEngine(store=store, embedder=embedder)
        loaded = cls(folder.name, engine, embedder, read(folder / "memories.jsonl"), read(folder / "questions.jsonl"))
        workspaces = {memory["workspace"] for memory in loaded.memories}
        together = len(workspaces) > 1 and (pooled or loaded.is_chats)
        for memory in loaded.memories:
            own = memory["workspace"]
            for target in (own, POOLED) if together else (own,):
                loaded._ids[target, own, memory["id"]] = await loaded.add(target, memory)
        return loaded

    async def add(self, workspace: str, memory: dict[str, Any]) -> str:
        added = await self.engine.in_workspace(workspace).add_memory(memory["text"], memory["metadata"])
        return added.memory_id

    @property
    def is_pooled(self) -> bool:
        return any(target == POOLED for target, _, _ in self._ids)

    @property
    def answered(self) -> list[dict[str, Any]]:
        """The questions that have an answer and count."""
        return [row for row in self.rows if row["answers"] and row["kind"] not in NEVER_AVERAGED]

    @property
    def unanswered(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if not row["answers"]]

    def questions(self, *, pooled: bool = False) -> list[Question]:
        """The questions that have an answer, of each workspace by itself or of all in one."""
        return [self._question(row, POOLED if pooled else row["workspace"]) for row in self.answered]

    def _question(self, row: dict[str, Any], target: str) -> Question:
        answers = frozenset(self._ids[target, row["workspace"], one] for one in row["answers"])
        return Question(target, row["question"][:LONGEST_QUERY], answers, row["kind"])

    def negatives(self) -> list[Question]:
        """Questions without a stored answer: those of the set; in chats also those of another, with names exchanged."""
        found = [Question(row["workspace"], row["question"], frozenset(), row["kind"]) for row in self.unanswered]
        if self.is_chats:
            workspaces = list(self.people)
            another = dict(zip(workspaces, workspaces[1:] + workspaces[:1], strict=True))
            for row in self.answered:
                own, other = row["workspace"], another[row["workspace"]]
                text = _exchanged(row["question"], self.people[own], self.people[other])
                found.append(Question(other, text, frozenset(), "exchanged"))
        return found

    @property
    def is_chats(self) -> bool:
        """Whether each workspace is the chat of its own two people."""
        pairs = list(self.people.values())
        return len(set(pairs)) > 1 and all(len(names) == 2 for names in pairs)

    @cached_property
    def people(self) -> dict[str, tuple[str, ...]]:
        people: dict[str, set[str]] = {}
        for memory in self.memories:
            if author := memory["metadata"].get("author"):
                people.setdefault(memory["workspace"], set()).add(author)
        return {workspace: tuple(sorted(names)) for workspace, names in people.items()}

    async def ask(
        self, questions: Sequence[Question], without: str | None = None, *, uncut: bool = False
    ) -> list[Asked]:
        """Ask questions, one after the other; a step can be left out. `uncut` also shows all hits of "nothing relevant"."""
        with _pipeline(self.embedder, without, uncut=uncut):
            return [await self._ask(question) for question in questions]

    async def _ask(self, question: Question) -> Asked:
        engine = self.engine.in_workspace(question.workspace)
        with mock.patch.object(search, "confidence", wraps=search.confidence) as measured:
            started = time.perf_counter()
            result = await engine.search_memory(question.text, DEPTH)
            seconds = time.perf_counter() - started
        scored, chunks, _ = measured.call_args.args
        found = tuple(hit.memory_id for hit in result.hits)
        return Asked(question, found, result.confidence, *_features(scored), chunks, seconds)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _features(scored: Scored) -> tuple[float, float | None]:
    """The best words, at most 1, and the best cosine among the best hits."""
    best = scored.best()[: answer.BEST_HITS]
    cover = min(1.0, max((float(scored.words[number]) for number in best), default=0.0))
    if scored.cosines is None or not best:
        return cover, None
    return cover, max(float(scored.cosines[number]) for number in best)


def _exchanged(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    """A text with its names replaced, in any case."""
    other = {name.casefold(): another for name, another in zip(names, others, strict=True)}
    return re.sub(r"\w+", lambda word: other.get(word[0].casefold(), word[0]), text)


@contextmanager
def _pipeline(embedder: CachedEmbedder, without: str | None, *, uncut: bool) -> Iterator[None]:
    profile, replaced = embedder.profile, STEPS[without] if without else {}
    with ExitStack() as stack:
        for (module, name), value in (replaced | (ALL_HITS if uncut else {})).items():
            stack.enter_context(mock.patch.object(module, name, value))
        embedder.questions_fail = without == VECTORS
        embedder.profile = replace(profile, author_bonus=0.0) if without == AUTHOR else profile
        try:
            yield
        finally:
            embedder.questions_fail, embedder.profile = False, profile
