"""The part of a graph's contract about facts whose memory is deleted, restored, purged or replaced."""

from dataclasses import replace

from zapomni_core.testing.samples import (
    EXTRACTOR,
    WORKSPACE,
    Graphed,
    add,
    delete,
    problems,
    purge_deleted,
    relations_of,
    restore,
    said,
    triples,
)
from zapomni_core.testing.store_contracts.facts import (
    AUGUST,
    IGOR,
    LENA,
    LONG_AGO,
    MAY,
    MYSQL,
    OWNERS,
    POSTGRES,
    relations_by_triple,
    replaced_by,
    snapshot,
    state,
    stated,
)
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.records import STATED, Added, Extraction


class FactLifecycleContract(StoreContract):
    """Facts live and end with their memories."""

    async def test_facts_go_and_come_back_with_their_memory(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, replace(IGOR, since=MAY))
        before = await snapshot(store)
        await delete(store, memory_id)
        assert await store.graph.facts(WORKSPACE) == []
        assert await store.graph.entities(WORKSPACE, ["Igor"]) == []
        assert await problems(store) == []
        await restore(store, memory_id)
        assert await snapshot(store) == before
        assert await problems(store) == []

    async def test_an_end_goes_and_comes_back_with_its_memory(self, store: Graphed) -> None:
        await stated(store, "MySQL", replace(MYSQL, since=LONG_AGO))
        for fact in (replace(MYSQL, until=MAY), replace(POSTGRES, since=MAY, replaces=True)):
            end = await stated(store, "the end of MySQL", fact)
            assert "Project uses MySQL" not in await triples(store, "Project")
            ended = await snapshot(store)
            await delete(store, end)
            ((_, relation),) = await relations_of(store, "Project", ended=True)
            assert (relation.object.name, relation.valid_until, relation.ended_by) == ("MySQL", None, None)
            await restore(store, end)
            assert await snapshot(store) == ended
            await delete(store, end)
        assert await problems(store) == []

    async def test_a_fact_has_the_evidence_that_is_left(self, store: Graphed) -> None:
        first = await stated(store, OWNERS, replace(IGOR, since=MAY))
        second = await stated(store, "Igor: parser", replace(IGOR, until=AUGUST))
        await delete(store, first)
        ((_, relation),) = await relations_of(store, "Igor", ended=True)
        assert [one.memory_id for one in relation.evidence] == [second]
        assert (relation.valid_from, relation.valid_until) == (None, AUGUST)

    async def test_purging_a_memory_purges_its_facts(self, store: Graphed) -> None:
        await stated(store, "MySQL", MYSQL)
        gone = await stated(store, "Postgres", replace(POSTGRES, replaces=True))
        await delete(store, gone)
        assert await purge_deleted(store) == 1
        assert await triples(store, "Project", ended=True) == ["Project uses MySQL"]
        assert await triples(store, "Project") == ["Project uses MySQL"]
        assert await store.graph.entities(WORKSPACE, ["Postgres"]) == []
        assert await problems(store) == []

    async def test_an_extractor_leaves_stated_facts_alone(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, IGOR)
        await store.graph.record(WORKSPACE, memory_id, said(OWNERS, "Igor", "wrote", "parser"))
        await store.graph.record(WORKSPACE, memory_id, Extraction(extractor=EXTRACTOR))
        assert await triples(store, "Igor") == ["Igor owns parser"]
        assert [one.name for one in await store.graph.entities_of(WORKSPACE, memory_id)] == ["Igor", "parser"]
        assert await store.graph.unread(WORKSPACE, "another", 9) == ([memory_id], 1)
        assert await store.graph.reading(WORKSPACE, memory_id, STATED) is None
        assert await problems(store) == []

    # A memory is replaced.

    async def test_facts_move_to_the_memory_that_replaces_theirs(self, store: Graphed) -> None:
        facts = (replace(IGOR, since=MAY, quote="Igor owns the parser"), LENA, replace(IGOR, object="lexer"))
        old = await stated(store, f"{OWNERS} Igor owns the lexer.", *facts)
        text = "Hello. IGOR  owns the parser! Lena too."
        added = await replaced_by(store, old, text)
        assert (added.facts_moved, added.facts_dropped) == (2, 1)
        found = await relations_by_triple(store, "parser")
        assert {name: one.valid_from for name, one in found.items()} == {
            "Igor owns parser": MAY,
            "Lena owns parser": None,
        }
        evidence = [one.evidence for one in found.values()]
        assert [[piece.memory_id for piece in pieces] for pieces in evidence] == [[added.memory_id]] * 2
        assert {pieces[0].quote for pieces in evidence} == {"IGOR  owns the parser!", text}
        assert await store.graph.entities(WORKSPACE, ["lexer"]) == []
        assert await problems(store) == []

    async def test_the_facts_of_a_replaced_memory_are_back_when_it_is(self, store: Graphed) -> None:
        old = await stated(store, OWNERS, IGOR, LENA)
        new = (await replaced_by(store, old, "Igor owns the parser")).memory_id
        await delete(store, new)
        assert await store.graph.facts(WORKSPACE) == []
        await restore(store, old)
        found = await store.graph.facts(WORKSPACE)
        assert [(one.subject.name, one.evidence[0].memory_id) for one in found] == [("Igor", old), ("Lena", old)]
        assert await problems(store) == []

    async def test_moved_facts_keep_the_order_in_which_they_were_stated(self, store: Graphed) -> None:
        first = await stated(store, "The Project uses Postgres", replace(POSTGRES, replaces=True))
        await stated(store, "The Project uses MySQL", replace(MYSQL, replaces=True))
        added = await replaced_by(store, first, "The Project has used Postgres")
        assert (added.facts_moved, added.facts_dropped) == (1, 0)
        assert await triples(store, "Project") == ["Project uses MySQL"]

    async def test_facts_move_to_a_memory_that_was_there(self, store: Graphed) -> None:
        old = await stated(store, OWNERS, IGOR)
        text = "Igor, the parser's owner"
        there = await add(store, text)
        await state(store, there, IGOR)
        await delete(store, there)
        assert await replaced_by(store, old, text) == Added(there, 1, "restored", facts_moved=1)
        assert await replaced_by(store, old, text) == Added(there, 1, "existing")
        ((_, relation),) = await relations_of(store, "Igor")
        assert [one.memory_id for one in relation.evidence] == [there]
        assert await problems(store) == []

    async def test_what_is_extracted_of_the_new_version_stands_beside_what_was_moved(self, store: Graphed) -> None:
        old = await stated(store, OWNERS, IGOR)
        text = "Igor wrote parser"
        await replaced_by(store, old, text, extraction=said(text, "Igor", "wrote", "parser"))
        assert sorted(await triples(store, "Igor")) == ["Igor owns parser", "Igor wrote parser"]

    # All facts, workspaces and callers.
