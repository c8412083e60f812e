"""The FalkorDB store: one graph of a server, any number of processes on any number of machines, many workspaces."""

from collections.abc import Sequence
from functools import partial

from zapomni_db import values
from zapomni_db.errors import DatabaseError
from zapomni_db.falkordb import memories, origins, search
from zapomni_db.falkordb.chunks import find as find_chunks
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.graph.store import FalkorDBGraph
from zapomni_db.falkordb.jobs import FalkorDBJobs
from zapomni_db.falkordb.listing import list_page
from zapomni_db.falkordb.reembedding import FalkorDBVectors
from zapomni_db.falkordb.sessions import FalkorDBSessions
from zapomni_db.falkordb.transaction import Transactions, read_workspace, workspace_id
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import (
    Added,
    Candidates,
    Change,
    ChunkFound,
    EmbedderIdentity,
    Event,
    Memory,
    NewMemory,
    Order,
    Origin,
    Page,
    Question,
    State,
    StoreStats,
    TermCounts,
)

_PURGED_AT_ONCE = 200  # others wait for it
_STATES = "MATCH (m:Memory) WHERE m.state = $state RETURN count(m)"
_WORKSPACES = "MATCH (w:Workspace) WHERE w.kept > 0 RETURN w.name ORDER BY w.name"


class FalkorDBStore:
    """A MemoryStore in a graph of a FalkorDB server. Connects on first use."""

    def __init__(self, client: FalkorDBClient) -> None:
        self._client = client
        self._transactions = Transactions(client)
        self.jobs = FalkorDBJobs(client)
        self.graph = FalkorDBGraph(client, self._transactions)
        self.sessions = FalkorDBSessions(client, self._transactions)
        self.vectors = FalkorDBVectors(client, self._transactions)

    async def add(self, workspace: str, memories: Sequence[NewMemory]) -> list[Added]:
        return await self._transactions.run(workspace, partial(origins.add_all, new=memories))

    async def origins(self, workspace: str, memory_ids: Sequence[str]) -> list[Origin]:
        return await origins.read(self._client, workspace, memory_ids)

    async def get(self, workspace: str, memory_id: str = "", *, key: str = "") -> Memory | None:
        return await memories.get(self._client, workspace, memory_id, key)

    async def list_memories(
        self,
        workspace: str,
        wanted: Filter = NO_FILTER,
        *,
        state: State = "live",
        order: Order = "newest",
        after: str = "",
        limit: int = 100,
    ) -> Page:
        values.check_text("workspace", workspace)
        return await list_page(self._client, workspace, wanted, state=state, order=order, after=after, limit=limit)

    async def change(self, workspace: str, memory_id: str, change: Change, *, by: str = "") -> Memory | None:
        changed = await self._transactions.run(
            workspace, partial(memories.change, memory_id=memory_id, wanted=change, by=by)
        )
        return await self.get(workspace, changed) if changed else None

    async def history(self, workspace: str, memory_id: str) -> Sequence[Event]:
        return await memories.history(self._client, workspace, memory_id)

    async def purge(self, workspace: str, memory_ids: Sequence[str]) -> int:
        removed = 0
        for start in range(0, len(memory_ids), _PURGED_AT_ONCE):
            batch = memory_ids[start : start + _PURGED_AT_ONCE]
            removed += await self._transactions.run(workspace, partial(memories.purge, memory_ids=batch))
        return removed

    async def term_counts(self, workspace: str, terms: Sequence[str]) -> TermCounts:
        values.check_text("workspace", workspace)
        return await search.term_counts(self._client, workspace, terms)

    async def candidates(self, workspace: str, question: Question) -> Candidates:
        values.check_text("workspace", workspace)
        return await search.candidates(self._client, workspace, question)

    async def chunks(self, workspace: str, chunks: Sequence[str]) -> list[ChunkFound]:
        return await find_chunks(self._client, workspace, chunks)

    async def embedder(self, workspace: str) -> EmbedderIdentity | None:
        return (await read_workspace(self._client, workspace_id(workspace))).embedder

    async def stats(self, workspace: str) -> StoreStats:
        values.check_text("workspace", workspace)
        ws = workspace_id(workspace)
        there = await read_workspace(self._client, ws)
        server = await self._client.info()
        return StoreStats(
            memories=there.memories,
            chunks=there.chunks,
            deleted=await self._count(memories.state_of(ws, "deleted")),
            superseded=await self._count(memories.state_of(ws, "replaced")),
            size_bytes=server.used_memory,
            embedder=there.embedder,
            store="falkordb",
            location=self._client.location,
            workspaces=tuple(name for (name,) in await self._client.read(_WORKSPACES)),
            details={"falkordb_version": server.falkordb_version, "redis_version": server.redis_version},
            warnings=server.warnings,
        )

    async def _count(self, state: str) -> int:
        return int((await self._client.read(_STATES, {"state": state}))[0][0])

    async def health(self) -> list[str]:
        try:
            await self._client.query("MATCH (z:Zapomni {id: 'schema'}) SET z.checked = timestamp()")
        except DatabaseError as error:
            return [str(error)]
        return []

    async def close(self) -> None:
        await self._client.close()
