"""Memories beside others in their conversations: the two before and the two after each, by moment and order of insertion.

Nothing is kept about the order: around each memory, ever wider times are looked at until there is enough on both sides.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from zapomni_db import values
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.filters import second_of
from zapomni_db.falkordb.memories import state_of
from zapomni_db.rank import OFFSETS, PER_NEIGHBOUR

_REACH = max(OFFSETS)
_SPANS = (3600, 30 * 86_400, 1 << 40)
"""Seconds on both sides of a memory; the last one is all of its conversation."""
_SIZES = """
UNWIND $talks AS talk MATCH (m:Memory) WHERE m.talk = talk AND m.state = $live AND m.chunks > 0 RETURN talk, count(m)
"""
_WITHIN = """
UNWIND $asked AS a MATCH (m:Memory) WHERE m.talk = a.talk AND m.second >= a.first AND m.second <= a.last AND m.state = $live
AND m.chunks > 0 WITH a.talk AS talk, toString(m.moment) + ',' + toString(m.first_chunk) + ',' + toString(m.chunks) AS turn
RETURN talk, string.join(collect(turn), ',') AS turns
"""


class Turn(NamedTuple):
    """A memory in a conversation. Turns are in the order of the conversation."""

    moment: int
    first_chunk: int
    chunks: int = 0

    def nearest_chunks(self, offset: int) -> range:
        """Its chunks that are nearest to the memory from which it stands at an offset."""
        end = self.first_chunk + self.chunks
        if offset < 0:
            return range(max(self.first_chunk, end - PER_NEIGHBOUR), end)
        return range(self.first_chunk, min(end, self.first_chunk + PER_NEIGHBOUR))


Beside = dict[int, dict[int, Turn]]
"""By the first chunk of a memory, its neighbours by their offsets."""


async def beside(client: FalkorDBClient, ws: str, memories: Mapping[Turn, str]) -> Beside:
    """The neighbours of memories, given with their conversations."""
    left = dict(memories)
    found: Beside = {}
    sizes = await _sizes(client, ws, set(left.values()))
    for span in _SPANS:
        if not left:
            break
        turns = await _turns(client, ws, left, span)
        for one, talk in list(left.items()):
            around = _around(turns[talk], one)
            if len(turns[talk]) >= sizes.get(talk, 0) or span == _SPANS[-1] or _is_whole(around, one, span):
                found[one.first_chunk] = around
                del left[one]
    return found


async def _sizes(client: FalkorDBClient, ws: str, talks: set[str]) -> dict[str, int]:
    """The number of turns of each conversation."""
    if not talks:
        return {}
    found = await client.read(_SIZES, {"talks": list(talks), "live": state_of(ws, "live")})
    return {talk: int(size) for talk, size in found}


async def _turns(client: FalkorDBClient, ws: str, memories: Mapping[Turn, str], span: int) -> dict[str, list[Turn]]:
    """The turns of conversations around memories, in order."""
    seconds: dict[str, list[int]] = defaultdict(list)
    for one, talk in memories.items():
        seconds[talk].append(second_of(one.moment))
    asked = [
        {"talk": talk, "first": max(1, first), "last": last}
        for talk, places in seconds.items()
        for first, last in _joined(places, span)
    ]
    turns: dict[str, list[Turn]] = defaultdict(list)
    for talk, listed in await client.read(_WITHIN, {"asked": asked, "live": state_of(ws, "live")}):
        turns[talk] += [Turn(*numbers) for numbers in values.integers(listed).reshape(-1, 3).tolist()]
    return {talk: sorted(turns[talk]) for talk in seconds}


def _joined(seconds: Iterable[int], span: int) -> list[tuple[int, int]]:
    """The times around some seconds, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for second in sorted(seconds):
        if joined and second - span <= joined[-1][1]:
            joined[-1] = joined[-1][0], second + span
        else:
            joined.append((second - span, second + span))
    return joined


def _around(turns: Sequence[Turn], one: Turn) -> dict[int, Turn]:
    """The neighbours of a memory among turns; none where it is not there any more."""
    at = next((place for place, turn in enumerate(turns) if turn.first_chunk == one.first_chunk), None)
    if at is None:
        return {}
    return {offset: turns[at + offset] for offset in OFFSETS if 0 <= at + offset < len(turns)}


def _is_whole(around: Mapping[int, Turn], one: Turn, span: int) -> bool:
    """Whether there are neighbours enough within the time that was looked at."""
    ends = [around[offset] for offset in (-_REACH, _REACH) if offset in around]
    second = second_of(one.moment)
    return len(ends) == len((-_REACH, _REACH)) and all(abs(second_of(end.moment) - second) <= span for end in ends)
