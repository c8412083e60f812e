"""The specification of the search in plain Python: no arrays, no store, no thought of speed. Tests compare with it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from zapomni_core.lexicon import translations

from zapomni_core.terms import query_terms, query_words

NEIGHBOURS = {-2: 0.2, -1: 0.4, 1: 0.4, 2: 0.2}


@dataclass(frozen=True)
class Part:
    """A chunk: its terms, and its vector of any length."""

    terms: tuple[str, ...]
    vector: tuple[float, ...]


@dataclass(frozen=True)
class Kept:
    """A live memory. `moment` orders conversations and ties."""

    id: str
    parts: tuple[Part, ...]
    moment: float = 0
    author: str = ""
    conversation: str = ""
    wanted: bool = True


@dataclass(frozen=True)
class Answer:
    confidence: float
    hits: tuple[tuple[str, float], ...]


class Reference:
    """Live memories in the order of insertion."""

    def __init__(self, memories: Sequence[Kept]) -> None:
        self.chunks = [(memory, part) for memory in memories for part in memory.parts]
        self.n = len(self.chunks)
        self.near = {memory.id: self._neighbours(memory, memories) for memory in memories}
        self.lengths = [self._soft(memory, part, lambda one: len(one.terms)) for memory, part in self.chunks]

    @staticmethod
    def _neighbours(memory: Kept, memories: Sequence[Kept]) -> list[tuple[Kept, float]]:
        if not memory.conversation:
            return []
        talk = sorted((one for one in memories if one.conversation == memory.conversation), key=lambda one: one.moment)
        here = talk.index(memory)
        return [(talk[here + step], weight) for step, weight in NEIGHBOURS.items() if 0 <= here + step < len(talk)]

    def _soft(self, memory, part, count) -> float:
        around = sum(weight * count(other) for near, weight in self.near[memory.id] for other in near.parts)
        return count(part) + around

    def df(self, term: str) -> int:
        return sum(term in part.terms for _, part in self.chunks)

    def idf(self, df: int) -> float:
        return math.log(1 + (self.n - df + 0.5) / (df + 0.5))

    def lexical(self, query: str, alike=None) -> tuple[list[float], float]:
        """The score of every chunk, and the ideal one; `alike` are words that mean the same as a term."""

        def count(part: Part, term: str) -> float:
            others = [min(map(part.terms.count, word)) for word in (alike or {}).get(term, ())]
            return part.terms.count(term) or 0.7 * max(others, default=0)

        average = fmean(self.lengths)
        holding = {term: sum(count(part, term) > 0 for _, part in self.chunks) for term in query_terms(query)}
        idf = {term: self.idf(df) for term, df in holding.items()}
        scores = []
        for (memory, part), length in zip(self.chunks, self.lengths, strict=True):
            soft = {term: self._soft(memory, part, lambda one, term=term: count(one, term)) for term in idf}
            norm = 0.9 * (0.6 + 0.4 * length / average)
            scores.append(sum(idf[term] * soft[term] * 1.9 / (soft[term] + norm) for term in idf))
        return scores, sum(idf.values())

    def pruned(self, query: str) -> str:
        """The query without common words."""
        words = query_words(query)
        left = [word for word in words if not word.terms or min(map(self.df, word.terms)) <= 0.15 * self.n]
        if self.n < 50 or len(left) == len(words) or sum(bool(word.terms) for word in left) < 2:
            return query
        return " ".join(word.word for word in left)

    def answer(self, query: str, vector: Sequence[float] | None, limit: int) -> Answer:
        """What a search gives; by words alone without a vector."""
        lex, ideal = self.lexical(query)
        masked = [i for i in range(self.n) if self.chunks[i][0].wanted]
        if max((lex[i] for i in masked), default=0) < 0.7 * ideal:
            lex, ideal = self.lexical(query, translations(query_words(query)))
        count = max(100, 4 * limit)
        chosen = set(sorted((i for i in masked if lex[i] > 0), key=lambda i: -lex[i])[:count])
        cos = [0.0] * self.n
        if vector is not None:
            cos = [_cosine(part.vector, vector) for _, part in self.chunks]
            chosen |= set(sorted(masked, key=lambda i: -cos[i])[:count])
        if not chosen:
            return Answer(0.0, ())
        top = max(lex[i] for i in chosen)
        cover = min(1, top / ideal) if ideal else 0
        nearest = max(cos[i] for i in chosen)
        sure = min(1, max(0, (nearest - 0.3) / 0.3))
        alpha = 1 if vector is None else (0.2 + 0.6 * min(1, cover / 0.7)) * (1 - 0.75 * sure)
        asked = {word.word.casefold() for word in query_words(query)}
        best: dict[str, tuple[float, int]] = {}
        for i in sorted(chosen):
            memory = self.chunks[i][0]
            words = lex[i] / max(top, 0.7 * ideal) if ideal else 0
            meaning = math.exp((cos[i] - nearest) / 0.14)
            named = any(word.casefold() in asked for word in memory.author.split())
            score = alpha * words + (1 - alpha) * meaning + 0.2 * named
            if memory.id not in best or score > best[memory.id][0]:
                best[memory.id] = (score, i)
        moments = {memory.id: memory.moment for memory, _ in self.chunks}
        ranked = sorted(best, key=lambda one: (-round(best[one][0], 9), -moments[one], one))[:limit]
        five = [best[one][1] for one in ranked[:5]]
        cover = min(1, max(lex[i] for i in five) / ideal) if ideal else 0
        sure = cover if vector is None else _confidence(cover, max(cos[i] for i in five), len(masked))
        most = best[ranked[0]][0]
        return Answer(sure, tuple((one, sure * best[one][0] / most if most else sure) for one in ranked))


def _confidence(cover: float, cosine: float, searched: int) -> float:
    luck = math.sqrt(2 * math.log(max(searched, 2)))
    return 1 / (1 + math.exp(-(-1.56 + 7.67 * cover + 15.76 * cosine - 1.58 * luck)))


def _cosine(kept: Sequence[float], vector: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(kept, vector, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in kept))
