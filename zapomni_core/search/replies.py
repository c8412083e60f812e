"""Who asks in a conversation hands the place among the hits to the answer, which comes next and seldom repeats the words."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from zapomni_core.models import SearchHit
from zapomni_core.search.answers import hit_of
from zapomni_core.search.ranking import Ranked
from zapomni_db.arrays import Mask
from zapomni_db.store import Snapshot

WHY = "conversation"
_ONE_AFTER = 2  # of a memory's neighbours
_ASKS = re.compile("[?\uff1f\u061f\u2047\u203d]")  # anywhere: whatever stands behind a question is no answer to it

Replies = Mapping[str, SearchHit]
"""By the id of a hit that asks, the memory after it as a hit."""


def replies_to(snapshot: Snapshot, ranked: Ranked, hits: Sequence[SearchHit], mask: Mask | None) -> Replies:
    """What came after those hits that ask something, as far as a filter lets it through."""
    asking = [number for number, hit in enumerate(hits) if hit.conversation and _ASKS.search(hit.text)]
    if not asking:
        return {}
    places = snapshot.neighbours[snapshot.places[ranked.rows[asking]], _ONE_AFTER]
    rows = np.searchsorted(snapshot.places, places)
    wanted = (places >= 0) if mask is None else (places >= 0) & mask[rows]
    found = snapshot.found(rows[wanted])
    known = {hit.memory_id: hit for hit in hits}
    askers = (hits[number].memory_id for number in np.array(asking, np.int64)[wanted])
    return {asker: known.get(one.memory_id) or hit_of(one, 0, ()) for asker, one in zip(askers, found, strict=True)}


def with_replies(hits: Iterable[SearchHit], replies: Replies) -> tuple[SearchHit, ...]:
    """The hits, each reply in front of who asks, with the same score; nobody twice."""
    ordered: dict[str, SearchHit] = {}
    for hit in hits:
        for one in () if hit.memory_id in ordered else _turn(hit, replies.get(hit.memory_id)):
            ordered.setdefault(one.memory_id, one)
    return tuple(ordered.values())


def _turn(hit: SearchHit, reply: SearchHit | None) -> Iterator[SearchHit]:
    if reply:
        why = tuple(dict.fromkeys((*reply.why, WHY)))
        yield replace(reply, similarity_score=hit.similarity_score, why=why)
    yield hit
