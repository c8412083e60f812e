"""Builds an answer of scored chunks: confidence, hits with reasons, and a limit on their text."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from zapomni_core.embedding import Profile
from zapomni_core.models import SearchHit, Verdict
from zapomni_core.search.score import Scored
from zapomni_core.text.boundaries import WORDS, last_boundary
from zapomni_core.text.terms import Given, words
from zapomni_db.records import ChunkFound
from zapomni_db.store import MemoryStore

CHARACTERS_PER_TOKEN = 4
ANSWER_OVERHEAD = 280
HIT_OVERHEAD = 135
FIELD_OVERHEAD = 13
VALUE_OVERHEAD = 3
"""Characters of an answer as JSON beside the texts of its hits, for the longer form of an answer counts: around the hits,
for each hit with its id, for a field of a hit that is not empty, and for one of several values."""
ELLIPSIS = "…"
SENTENCE_END = re.compile(
    r"[.!?…](?=\s|$)|[\u3002\uff01\uff1f]|\n"
)  # the last three end sentences in Chinese and Japanese

BEST_HITS = 5
"""Hits that the confidence is based on."""
WORDS_BIAS, OF_WORDS = -2.3, 3.9
"""Weights of the logistic function where there are no vectors: bias, and cover of the words."""
NOTHING_BELOW = 0.1
WEAK_BELOW = 0.5
HITS_OF_NOTHING = 3
LEAST_SHARE = 0.2
"""Of the best score; hits below it are left out."""
COMPARED = 2
"""Times `limit`: how many texts are compared to find copies."""
NEARLY_EQUAL = 0.8
"""Share of common words from which two texts are copies."""
NEGATIONS = frozenset(
    """
    no not never none nothing nobody neither nor without cannot don doesn didn isn aren wasn weren won wouldn shouldn
    couldn hasn haven hadn ain не нет ни никогда никто ничего без nicht kein keine keinen nie niemals ohne nunca sin
    ningún ninguna ne pas jamais aucun sans
    """.split()  # noqa: SIM905 (words read better as prose than as a list)
)


def confidence(scored: Scored, chunks: int, profile: Profile) -> float:
    """Estimate how likely an answer is among the first hits, in [0, 1], given the number of chunks in the workspace."""
    best = scored.best()[:BEST_HITS]
    if not best:
        return 0.0
    cover = min(1.0, max(float(scored.words[number]) for number in best))
    if scored.cosines is None or profile.confidence is None:
        return _sigmoid(WORDS_BIAS + OF_WORDS * cover)
    bias, of_cover, of_cosine, of_size = profile.confidence
    cosine = max(float(scored.cosines[number]) for number in best)
    return _sigmoid(bias + of_cover * cover + of_cosine * cosine + of_size * math.log(max(1, chunks)))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def verdict(confidence: float) -> Verdict:
    """Return the confidence in words."""
    if confidence < NOTHING_BELOW:
        return "nothing relevant"
    return "weak" if confidence < WEAK_BELOW else "good"


async def make_hits(
    store: MemoryStore, workspace: str, scored: Scored, asked: Mapping[str, Given], *, sure: float, limit: int
) -> list[SearchHit]:
    """Return the hits, best first. A hit's score is the confidence times its share of the best score."""
    best = scored.best()
    top = float(scored.total[best[0]]) if best else 0.0
    worth = [number for number in best if top <= 0 or scored.total[number] >= LEAST_SHARE * top]
    most = min(limit, HITS_OF_NOTHING) if verdict(sure) == "nothing relevant" else limit
    compared = worth[: most * COMPARED]
    found = await store.chunks(workspace, [scored.chunks[number].chunk for number in compared])
    numbers = {scored.chunks[number].memory_id: number for number in compared}
    hits = []
    for one, copies in _without_copies(found)[:most]:
        number = numbers[one.memory_id]
        share = float(scored.total[number]) / top if top > 0 else 1.0
        hits.append(_hit(one, sure * share, tuple(_reasons(scored, number, asked)), copies))
    return hits


def _without_copies(found: Sequence[ChunkFound]) -> list[tuple[ChunkFound, tuple[str, ...]]]:
    """Keep one of several copies, with the ids of the others."""
    kept: list[tuple[ChunkFound, frozenset[str], list[str]]] = []
    for one in found:
        held = frozenset(words(one.text))
        same = next((ids for _, other, ids in kept if _are_copies(held, other)), None)
        if same is None:
            kept.append((one, held, []))
        else:
            same.append(one.memory_id)
    return [(one, tuple(ids)) for one, _, ids in kept]


def _are_copies(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts have nearly the same words, and do not differ in a number or a negation."""
    if min(len(one), len(other)) < NEARLY_EQUAL * max(len(one), len(other)):  # cheaper than comparing the words
        return False
    if len(one & other) < NEARLY_EQUAL * len(one | other):
        return False
    return not differ_in_fact(one, other)


def differ_in_fact(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether a word that only one of two texts has is a negation or holds a digit."""
    return any(word in NEGATIONS or any(map(str.isdigit, word)) for word in frozenset(one) ^ frozenset(other))


def _hit(found: ChunkFound, score: float, why: tuple[str, ...], copies: tuple[str, ...]) -> SearchHit:
    return SearchHit(
        memory_id=found.memory_id,
        text=found.text.rstrip(),
        similarity_score=score,
        why=why,
        kind=found.kind,
        heading=found.heading,
        tags=found.tags,
        source=found.source,
        author=found.author,
        conversation=found.conversation,
        timestamp=found.timestamp,
        created_at=found.created_at,
        role=found.role,
        copies=copies,
    )


def _reasons(scored: Scored, number: int, asked: Mapping[str, Given]) -> Iterator[str]:
    """Yield the question's words in a hit as written, then `meaning`, `conversation` and `author` if they counted."""
    yield from _as_written([given for given, holds in zip(asked.values(), scored.own[number], strict=True) if holds])
    if scored.meaning_part[number] > scored.words_part[number]:
        yield "meaning"
    if scored.lent[number]:
        yield "conversation"
    if scored.by_author[number]:
        yield "author"


def cut_to(hits: list[SearchHit], max_tokens: int) -> list[SearchHit]:
    """Keep the hits that fit into a number of tokens, at least one; cut the last one at a sentence.

    At least half of the tokens go to the text of the first hit.
    """
    room = max_tokens * CHARACTERS_PER_TOKEN - ANSWER_OVERHEAD
    kept: list[SearchHit] = []
    for hit in hits:
        room -= HIT_OVERHEAD + sum(map(_size, (hit.why, hit.tags, hit.copies, hit.heading, hit.source, hit.author)))
        if not kept:
            room = max(room, max_tokens * CHARACTERS_PER_TOKEN // 2)
        escaped = len(json.dumps(hit.text, ensure_ascii=False)) - len(hit.text) - 2
        if len(hit.text) > room - escaped:
            shorter = _cut(hit.text, room - escaped) if kept else _cut_first(hit.text, room - escaped)
            if shorter:
                kept.append(replace(hit, text=shorter))
            break
        kept.append(hit)
        room -= len(hit.text) + escaped
    return kept


def _size(value: str | Sequence[str]) -> int:
    """Characters of a field as JSON."""
    if not value:
        return 0
    return FIELD_OVERHEAD + (len(value) if isinstance(value, str) else sum(len(one) + VALUE_OVERHEAD for one in value))


def _cut(text: str, room: int) -> str:
    ends = [match.end() for match in SENTENCE_END.finditer(text) if match.end() <= room]
    return text[: ends[-1]].rstrip() if ends else ""


def _cut_first(text: str, room: int) -> str:
    """Cut a text at a sentence if that keeps half of it, else at a word, so that no number is cut."""
    sentences = _cut(text, room)
    if len(sentences) * 2 >= room > 0:
        return sentences
    first, most = len(text) - len(text.lstrip()), max(1, room - len(ELLIPSIS))
    words = [match.start() for match in WORDS.pattern.finditer(text, 0, most + 1) if first < match.start() <= most]
    return text[: words[-1] if words else last_boundary(text, 0, most)] + ELLIPSIS


def _as_written(found: Sequence[Given]) -> Iterator[str]:
    """Yield each word once, as written; of an identifier that is missing as a whole, the parts that are there."""
    whole = {given.word for given in found if given.part == given.word}
    yield from dict.fromkeys(given.part for given in found if given.part == given.word or given.word not in whole)
