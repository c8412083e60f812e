"""Weighs the closer look on the tuning corpus, as Markdown. Run: .venv/bin/python tests/recall/looks.py.

Every question is asked once and its hits are looked at once for each number of tokens; only what words, cosines and agreement
count is chosen anew. The recall corpus is never read here.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from zapomni_core.search.lexical import Scores
from zapomni_core.search.replies import with_replies

from tests.recall.harness import Asked, fill, questions
from tests.recall.report import percent, table
from tests.recall.tune import TUNING
from zapomni_core.embedding import DefaultEmbedder, Profile
from zapomni_core.engine import MemoryEngine
from zapomni_core.search import alignment, searching
from zapomni_db.sqlite import SQLiteStore

TOKENS = (400, 800, 1600)
TOLD, AGREED = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), (0.05, 0.07, 0.09, 0.12, 0.15)
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Look:
    """What a search had before it looked closer, the keys of its memories, and what each number of tokens shows."""

    asked: Asked
    answered: Any
    keys: dict[str, str]
    agreements: dict[int, Scores]

    def is_right(self, tokens: int, profile: Profile) -> bool:
        """Whether an answer comes first with these weights."""
        hits = self.answered.result.hits
        if self.answered.needs_look:
            order = alignment._joined(self.answered.ranked, self.agreements[tokens], profile).order
            hits = [hits[number] for number in order]
        ordered = with_replies(hits, self.answered.replies)
        return bool(ordered) and self.keys[ordered[0].memory_id] in self.asked.answers


async def gather(folder: Path, corpus: Path = TUNING) -> list[Look]:
    """Store a corpus in a new store in this folder, and keep what every question that has an answer finds there."""
    embedder = DefaultEmbedder()
    engine = MemoryEngine(store=SQLiteStore(folder / "looks.db"), embedder=embedder)
    try:
        keys = await fill(engine, corpus)
        return [await _look(engine, embedder, keys, asked) for asked in questions(corpus) if asked.answers]
    finally:
        await engine.close()


async def _look(engine: MemoryEngine, embedder: DefaultEmbedder, keys: dict[str, str], asked: Asked) -> Look:
    with mock.patch.object(searching, "_closer", wraps=searching._closer) as closer:
        await engine.search_memory(asked.text)
    answered = closer.call_args.args[2]
    agreements = {}
    for tokens in TOKENS if answered.needs_look else ():
        with mock.patch.object(DefaultEmbedder, "profile", replace(embedder.profile, aligned_tokens=tokens)):
            texts = alignment._within(embedder, answered.result.hits)
        pieces = await embedder.fragments([asked.text, *texts])
        agreements[tokens] = alignment.agreement(pieces[0], pieces[1:])
    return Look(asked, answered, keys, agreements)


def looks_report(looks: Sequence[Look]) -> str:
    """For each number of tokens the best weights by the mean over the kinds, and where the current ones stand."""
    now = DefaultEmbedder.profile
    lines = []
    for tokens in TOKENS:
        tried = {(told, agreed): _means(looks, tokens, told, agreed) for told, agreed in product(TOLD, AGREED)}
        ordered = sorted(tried, key=lambda one: -tried[one][0])
        current = (now.told_weight, now.alignment_weight)
        for one in dict.fromkeys([*ordered[:SHOWN], *([current] if tokens == now.aligned_tokens else [])]):
            name = f"{one[1]} (current)" if (tokens, one) == (now.aligned_tokens, current) else f"{one[1]}"
            lines.append([str(tokens), str(one[0]), name, *map(percent, tried[one])])
    return table(["tokens", "words count", "agreement counts", "R@1, mean of kinds", "crosslingual"], lines)


def _means(looks: Sequence[Look], tokens: int, told: float, agreed: float) -> tuple[float, float]:
    """Shares of questions whose answer comes first: the mean over the kinds, and of those in another language."""
    profile = replace(DefaultEmbedder.profile, told_weight=told, alignment_weight=agreed)
    kinds: dict[str, list[bool]] = {}
    for look in looks:
        kinds.setdefault(look.asked.kind, []).append(look.is_right(tokens, profile))
    return fmean(map(fmean, kinds.values())), fmean(kinds["crosslingual"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(looks_report(asyncio.run(gather(Path(folder)))) + "\n")
