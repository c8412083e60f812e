"""Makes hits of ranked chunks: the text, the score, why it matched, and no more text than was asked for."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from zapomni_core.chunking.graphemes import last_seam
from zapomni_core.chunking.layout import WORDS
from zapomni_core.models import SearchHit
from zapomni_core.search.lexical import Postings
from zapomni_core.search.ranking import Ranked
from zapomni_core.terms import Given
from zapomni_db.arrays import Mask, Rows
from zapomni_db.records import ChunkFound
from zapomni_db.store import Snapshot

CHARACTERS_PER_TOKEN = 4
ABOUT_ALL = 100
ABOUT_HIT = 160
"""Characters that an answer has beside the texts of its hits: for its first line, and for each hit."""
GOES_ON = "…"
SENTENCE_END = re.compile(
    r"[.!?…](?=\s|$)|[\u3002\uff01\uff1f]|\n"
)  # the last three end sentences in Chinese and Japanese


def make_hits(
    snapshot: Snapshot,
    ranked: Ranked,
    confidence: float,
    asked: Mapping[str, Given],
    postings: Postings,
    *,
    translated: Postings,
) -> list[SearchHit]:
    """The hits, best first. `asked` are the query's terms with what gave them, `translated` what translations add.

    A hit's score is the confidence, scaled by how it compares with the best hit.
    """
    best = ranked.scores.max(initial=0)
    shares = ranked.scores / best if best else np.ones(len(ranked.rows))
    found = snapshot.found(ranked.rows)
    reasons = _reasons(snapshot, ranked, asked, postings, translated)
    return [hit_of(one, confidence * float(share), why) for one, share, why in zip(found, shares, reasons, strict=True)]


def cut_to(hits: list[SearchHit], max_tokens: int) -> list[SearchHit]:
    """Whole hits as long as they fit with all that is said of them; the last one cut at a sentence; at least one.

    Where that leaves too little, half of the answer is the first one's text all the same.
    """
    room = max(max_tokens * CHARACTERS_PER_TOKEN - ABOUT_ALL, max_tokens * CHARACTERS_PER_TOKEN // 2 + ABOUT_HIT)
    kept: list[SearchHit] = []
    for hit in hits:
        room -= ABOUT_HIT
        if len(hit.text) > room:
            shorter = _cut(hit.text, room) if kept else _begun(hit.text, room)
            if shorter:
                kept.append(replace(hit, text=shorter))
            break
        kept.append(hit)
        room -= len(hit.text)
    return kept


def _cut(text: str, room: int) -> str:
    ends = [match.end() for match in SENTENCE_END.finditer(text) if match.end() <= room]
    return text[: ends[-1]].rstrip() if ends else ""


def _begun(text: str, room: int) -> str:
    """Up to a sentence's end if that is not far too soon, else to that of a word, so that half a number is no answer."""
    sentences = _cut(text, room)
    if len(sentences) * 2 >= room > 0:
        return sentences
    first, most = len(text) - len(text.lstrip()), max(1, room - len(GOES_ON))
    words = [match.start() for match in WORDS.pattern.finditer(text, 0, most + 1) if first < match.start() <= most]
    return text[: words[-1] if words else last_seam(text, 0, most)] + GOES_ON


def hit_of(found: ChunkFound, score: float, why: tuple[str, ...]) -> SearchHit:
    """A chunk that was found, as a hit, without the white space that keeps it from the next one."""
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
    )


def _reasons(
    snapshot: Snapshot, ranked: Ranked, asked: Mapping[str, Given], postings: Postings, translated: Postings
) -> list[tuple[str, ...]]:
    """For each hit: the query's words in it as written, and `translation`, `meaning` and the like where they carried it."""
    held = {term: _among(postings[term][0], ranked.rows) for term in asked}
    told = np.zeros(len(ranked.rows), dtype=bool)
    for term, (rows, _) in translated.items():
        told |= ~held[term] & _among(rows, ranked.rows)
    lent = np.zeros(len(ranked.rows), dtype=bool)
    around = snapshot.neighbours[snapshot.places[ranked.rows]]
    if around.max(initial=-1) >= 0:
        for term, own in held.items():
            lent |= ~own & _near(snapshot, around, postings[term][0])
    carried = {
        "translation": told,
        "meaning": ranked.meaning_part > ranked.words_part,
        "conversation": lent,
        "author": ranked.by_author,
    }
    return [
        (
            *_as_written([given for term, given in asked.items() if held[term][number]]),
            *(name for name, holds in carried.items() if holds[number]),
        )
        for number in range(len(ranked.rows))
    ]


def _as_written(found: Sequence[Given]) -> Iterator[str]:
    """Each word once, as it was written; of an identifier that is not there itself, the parts that are."""
    whole = {given.word for given in found if given.part == given.word}
    yield from dict.fromkeys(given.part for given in found if given.part == given.word or given.word not in whole)


def _among(growing: Rows, rows: Rows) -> Mask:
    """Which rows are among those, without looking at all of them."""
    if not len(growing):
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(growing[np.searchsorted(growing, rows).clip(max=len(growing) - 1)] == rows)


def _near(snapshot: Snapshot, around: Rows, holding: Rows) -> Mask:
    """Which rows have a neighbour in their conversation that holds a term; `around` has the neighbours of each."""
    held = np.zeros(snapshot.memories + 1, dtype=bool)  # a missing neighbour is -1: the last, which holds nothing
    held[snapshot.places[holding]] = True
    return np.asarray(held[around].any(axis=1))
