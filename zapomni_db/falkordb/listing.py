"""Lists memories in an order, a page at a time.

FalkorDB does not sort by an index, so a page is looked for in ever larger parts of the order, from where the page before ended.
"""

import re
from collections.abc import Iterator
from typing import Any

from zapomni_db.errors import InvalidInputError
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.cypher import limited
from zapomni_db.falkordb.filters import conditions, second_of
from zapomni_db.falkordb.memories import read, state_of
from zapomni_db.falkordb.transaction import Workspace, read_workspace, workspace_id
from zapomni_db.filters import Filter
from zapomni_db.records import Order, Page, State

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_WIDER = 8  # each part of the order than the one before
_AFTER = {
    "newest": " AND (m.moment < $moment OR m.moment = $moment AND m.seq < $seq)",
    "oldest": " AND (m.moment > $moment OR m.moment = $moment AND m.seq > $seq)",
    "inserted": " AND m.seq > $seq",
}
_ORDERED = {"newest": "m.moment DESC, m.seq DESC", "oldest": "m.moment, m.seq", "inserted": "m.seq"}
_SOME = """
MATCH (m:Memory) WHERE {which} AND m.{by} >= $first AND m.{by} <= $last{more}
WITH m ORDER BY {ordered} LIMIT $limit RETURN m.uid, m.moment, m.seq
"""


async def list_page(
    client: FalkorDBClient, name: str, wanted: Filter, *, state: State, order: Order, after: str, limit: int
) -> Page:
    """Memories in an order, from where the page before ended."""
    last = _position(after, order)
    ws = workspace_id(name)
    workspace = await read_workspace(client, ws)
    narrowed, parameters = conditions(name, wanted, "m")
    which = "m.ws = $which" if state == "all" else "m.state = $which"
    by = "seq" if order == "inserted" else "second"
    more = narrowed + (_AFTER[order] if last else "")
    statement = _SOME.format(which=which, by=by, more=more, ordered=_ORDERED[order])
    given = {"which": ws if state == "all" else state_of(ws, state), **parameters, **last}
    found: list[list[Any]] = []
    for first, end in _parts(workspace, order, last, limit):
        left = limit + 1 - len(found)
        found += await client.read(statement, {**given, "first": first, "last": end, "limit": limited(left)})
        if len(found) > limit:
            break
    uids = [uid for uid, _, _ in found[:limit]]
    memories = (
        await read(client, name, "UNWIND $uids AS uid MATCH (m:Memory {uid: uid})", {"uids": uids}) if uids else []
    )
    return Page(memories, _place(found[limit - 1], order) if len(found) > limit else "")


def _parts(workspace: Workspace, order: Order, last: dict[str, int], limit: int) -> Iterator[tuple[int, int]]:
    """The parts of an order one after the other, in seconds or numbers of memories, from a place on."""
    lowest, highest = (1, workspace.memory_seq) if order == "inserted" else (workspace.oldest, workspace.newest)
    if last:
        start = last["seq"] if order == "inserted" else second_of(last["moment"])
        lowest, highest = (lowest, start) if order == "newest" else (start, highest)
    width = 1 + 2 * (highest - lowest) * limit // max(1, workspace.memory_seq)
    while lowest <= highest:
        if order == "newest":
            yield max(lowest, highest - width), highest
            highest -= width + 1
        else:
            yield lowest, min(highest, lowest + width)
            lowest += width + 1
        width *= _WIDER


def _place(found: list[Any], order: Order) -> str:
    _, moment, seq = found
    return str(seq) if order == "inserted" else f"{moment}.{seq}"


def _position(after: str, order: Order) -> dict[str, int]:
    """The position at which the previous page ended; empty for the first page."""
    if not after:
        return {}
    names = ("seq",) if order == "inserted" else ("moment", "seq")
    numbers = after.split(".")
    if len(numbers) != len(names) or not all(map(_NUMBER.fullmatch, numbers)):
        raise InvalidInputError("after must be what the page before said")
    return dict(zip(names, map(int, numbers), strict=True))
