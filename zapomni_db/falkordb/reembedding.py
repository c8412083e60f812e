"""Gives the chunks of a workspace the vectors of another embedder, or the terms of another analyser. The old ones serve meanwhile."""

from collections.abc import Sequence
from functools import partial

from zapomni_db.arrays import Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.falkordb.add import check_vector, describe, serve, terms_of
from zapomni_db.falkordb.chunks import FOUND, found, public_number, uid_of
from zapomni_db.falkordb.client import FalkorDBClient, Rows
from zapomni_db.falkordb.transaction import Transaction, Transactions, read_workspace, vector_property, workspace_id
from zapomni_db.records import ChunkFound, EmbedderIdentity, VectorWeight

_BATCH = 1000  # chunks whose old vectors are forgotten at once: others wait for it

_COUNT = "MATCH (c:Chunk) WHERE c.ws = $ws{} RETURN count(c)"
_NEWEST = f"""
MATCH (c:Chunk) WHERE c.ws = $ws{{}} WITH c ORDER BY c.number DESC LIMIT $limit
MATCH (m:Memory {{{{uid: c.memory}}}}) RETURN c.number AS number, {FOUND} ORDER BY number DESC
"""
_PENDING = " AND c.pending = $ws"
_WITHOUT = " AND c.{} IS NULL"
_OUTDATED = " AND c.analyser <> $analyser"
_KEPT = "UNWIND $uids AS uid MATCH (c:Chunk {uid: uid}) RETURN uid, c.length, c.live IS NOT NULL AS live"
_FILL = "MATCH (c:Chunk {{uid: r.uid}}) SET c.{} = vecf32(r.vector)"
_FILL_SERVING = _FILL + ", c.pending = NULL"
_FORGET = "MATCH (c:Chunk) WHERE c.ws = $ws AND c.{0} IS NOT NULL WITH c LIMIT $limit SET c.{0} = NULL RETURN count(c)"
_REPLACE_TERMS = """
MATCH (c:Chunk {uid: r.uid}) SET c.length = r.length, c.words = r.words, c.analyser = r.analyser,
c.terms = CASE WHEN r.live THEN r.terms ELSE NULL END, c.hidden = CASE WHEN r.live THEN NULL ELSE r.terms END
WITH c, r MATCH (m:Memory {uid: c.memory}) SET m.length = m.length + r.more
"""


class FalkorDBVectors:
    """A VectorStore in the same graph as the memories."""

    def __init__(self, client: FalkorDBClient, transactions: Transactions) -> None:
        self._client = client
        self._transactions = transactions

    async def pending(
        self, workspace: str, embedder: EmbedderIdentity, limit: int
    ) -> tuple[list[tuple[int, ChunkFound]], int]:
        there = await read_workspace(self._client, workspace_id(workspace))
        if there.embedder == embedder:
            return await self._some(workspace, _PENDING, limit)
        known = embedder in there.embedders
        which = _WITHOUT.format(vector_property(there.embedders.index(embedder))) if known else ""
        return await self._some(workspace, which, limit)

    async def fill(self, workspace: str, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, Vector]]) -> None:
        await self._transactions.run(workspace, partial(_fill, embedder=embedder, given=vectors))

    async def switch(self, workspace: str, embedder: EmbedderIdentity) -> None:
        await self._transactions.run(workspace, partial(_switch, embedder=embedder))
        while await self._forget_some(workspace):
            pass

    async def weight(self, workspace: str, embedder: EmbedderIdentity) -> VectorWeight | None:
        there = await read_workspace(self._client, workspace_id(workspace))
        return there.weights[there.embedders.index(embedder)] if embedder in there.embedders else None

    async def record_weight(self, workspace: str, embedder: EmbedderIdentity, weight: VectorWeight) -> None:
        await self._transactions.run(workspace, partial(_record_weight, embedder=embedder, weight=weight))

    async def outdated(self, workspace: str, analyser: int, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._some(workspace, _OUTDATED, limit, analyser=analyser)

    async def replace_terms(self, workspace: str, analyser: int, terms: Sequence[tuple[int, Sequence[str]]]) -> None:
        await self._transactions.run(workspace, partial(_replace_terms, analyser=analyser, new=terms))

    async def _some(
        self, workspace: str, which: str, limit: int, **parameters: int
    ) -> tuple[list[tuple[int, ChunkFound]], int]:
        """The newest chunks of which a condition is true, hidden ones too, and how many there are."""
        ws = workspace_id(workspace)
        given = {"ws": ws, **parameters}
        ((total,),) = await self._client.read(_COUNT.format(which), given)
        rows = await self._client.read(_NEWEST.format(which), {**given, "limit": limit}) if total else []
        return [(public_number(ws, number), found(columns)) for number, *columns in rows], total

    async def _forget_some(self, workspace: str) -> bool:
        """Forget some vectors of embedders that do not serve; False when there are none left."""
        ws = workspace_id(workspace)
        there = await read_workspace(self._client, ws)
        others = [number for number, one in enumerate(there.embedders) if one and number != there.serving]
        for number in others:
            statement = _FORGET.format(vector_property(number))
            while (await self._client.query(statement, {"ws": ws, "limit": _BATCH}))[0][0]:
                pass
        return bool(others) and not await self._transactions.run(workspace, _release)


async def _record_weight(tx: Transaction, embedder: EmbedderIdentity, weight: VectorWeight) -> None:
    tx.workspace.weights[tx.workspace.register(embedder)] = weight
    tx.touch()


async def _release(tx: Transaction) -> bool:
    """Give the numbers of other embedders free; False if one of them has vectors."""
    there = tx.workspace
    for number, one in enumerate(there.embedders):
        if one and number != there.serving:
            which = f" AND c.{vector_property(number)} IS NOT NULL"
            if (await tx.read(_COUNT.format(which)))[0][0]:
                return False
            there.embedders[number] = there.weights[number] = None
    tx.touch()
    return True


async def _kept(tx: Transaction, numbers: Sequence[int]) -> Rows:
    return await tx.read(_KEPT, uids=[uid for number in numbers if (uid := uid_of(tx.ws, number))])


async def _fill(tx: Transaction, embedder: EmbedderIdentity, given: Sequence[tuple[int, Vector]]) -> None:
    """Keep vectors of chunks that are still there."""
    vectors = {uid_of(tx.ws, number): check_vector(vector, embedder) for number, vector in given}
    there = [uid for uid, *_ in await _kept(tx, [number for number, _ in given])]
    number = tx.workspace.register(embedder) if there else 0
    body = (_FILL_SERVING if number == tx.workspace.serving else _FILL).format(vector_property(number))
    for uid in there:
        tx.write(body, {"uid": uid, "vector": vectors[uid]})


async def _switch(tx: Transaction, embedder: EmbedderIdentity) -> None:
    """Let this embedder's vectors serve."""
    number = tx.workspace.register(embedder)
    ((left,),) = await tx.read(_COUNT.format(_WITHOUT.format(vector_property(number))))
    if left:
        raise EmbedderMismatchError(f"{left} chunks have no vector by {describe(embedder)} yet.")
    serve(tx, number)


async def _replace_terms(tx: Transaction, analyser: int, new: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Keep other terms of chunks that are still there."""
    made = {uid_of(tx.ws, number): own for number, own in new}
    for uid, length, live in await _kept(tx, [number for number, _ in new]):
        terms, words = terms_of(tx.name, made[uid])
        more = len(made[uid]) - length
        tx.workspace.length += more if live else 0
        row = {"uid": uid, "length": len(made[uid]), "words": words, "analyser": analyser, "terms": terms}
        tx.write(_REPLACE_TERMS, {**row, "live": live, "more": more})
