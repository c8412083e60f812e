"""The FalkorDB store keeps the contract of a graph."""

import asyncio

from tests.contracts.test_falkordb_memories import OnFalkorDB
from zapomni_core.testing.samples import WORKSPACE, Graphed, add, delete, named, restore, said
from zapomni_core.testing.store_contracts import GraphStoreContract
from zapomni_db.records import GraphCounts

TEXT = "Ada knows Grace and Alan and Igor"


class TestFalkorDBGraph(OnFalkorDB, GraphStoreContract):
    """The contract of a graph."""

    async def test_readings_of_one_memory_at_once_leave_what_the_last_one_says(
        self, store: Graphed, other: Graphed
    ) -> None:
        memory_id = await add(store, TEXT)
        readings = [
            named(TEXT, "Ada", "Igor"),
            named(TEXT),
            said(TEXT, "Ada", "knows", "Grace"),
            said(TEXT, "Ada", "knows", "Alan"),
        ]
        await asyncio.gather(
            *(where.graph.record(WORKSPACE, memory_id, one) for one in readings * 8 for where in (store, other)),
            *(work(where, memory_id) for work in (delete, restore) * 8 for where in (other, store)),
        )
        await restore(store, memory_id)
        await store.graph.record(WORKSPACE, memory_id, said(TEXT, "Ada", "knows", "Grace"))
        assert await store.graph.counts(WORKSPACE) == GraphCounts(
            entities=2, facts=1, ended=0, together=0, mentions=2, memories=1, read={"samples": 1}
        )
