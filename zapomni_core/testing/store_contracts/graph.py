"""The contract of a graph as a test class: subclass it, make a store, and pytest does the rest."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from zapomni_core.testing.samples import (
    EXTRACTOR,
    WORKSPACE,
    Graphed,
    add,
    delete,
    entity_in,
    extract,
    mention,
    named,
    problems,
    purge_deleted,
    put,
    relations_of,
    restore,
    said,
    sample_memory,
    the,
    triples,
)
from zapomni_core.testing.store_contracts.fact_lifecycle import FactLifecycleContract
from zapomni_core.testing.store_contracts.facts import FactContract
from zapomni_core.testing.store_contracts.origins import GraphOriginContract
from zapomni_core.testing.store_contracts.timeline import TimelineContract
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import MENTIONED_WITH, STATED, Extraction, GraphCounts, NewEntity

HOSTILE_NAMES = {
    "quotes": 'O\'Neil "the" `boss`; DROP TABLE entity; --',
    "operators": "NEAR(a b) OR * ^ : - + %_ {x} \\",
    "right to left": "\u05e2\u05d3\u05d4 \u202e\u05dc\u05d0\u05d1",
    "emoji": "👩‍💻🚀",
    "chinese": "艾达洛夫莱斯",
    "thai": "เอดา เลิฟเลซ",
    "combining": "A\u0301da Z\u030caba",
    "long": "name " * 199,
}


class GraphStoreContract(FactContract, FactLifecycleContract, TimelineContract, GraphOriginContract):
    """The contract of a store with a graph.

    ```python
    class TestMyGraph(GraphStoreContract):
        async def make_store(self, tmp_path):
            return MyStore(tmp_path / "store")
    ```
    """

    async def test_equal_names_are_one_entity(self, store: Graphed) -> None:
        await mention(store, "Ada Lovelace, Ada Lovelace", "Ada Lovelace", kind="person")
        await mention(store, "ADA LOVELACE", "ADA LOVELACE")
        await mention(store, "Ada\n  Lovelace", "Ada\n  Lovelace")
        await mention(store, "\uff21da Lovelace", "\uff21da Lovelace")
        ada = await the(store, "ada lovelace")
        assert (ada.name, ada.type, ada.mentions, ada.memories) == ("Ada Lovelace", "person", 5, 4)
        assert await store.graph.entities(WORKSPACE, [ada.id, "Ada LOVELACE", "nobody", ""]) == [ada]
        assert (await store.graph.counts(WORKSPACE)).entities == 1

    async def test_the_first_type_that_says_something_is_the_type(self, store: Graphed) -> None:
        for kind in ("name", "thing", "city", "person"):
            await mention(store, "Paris", "Paris", kind=kind)
        assert (await the(store, "Paris")).type == "city"

    async def test_two_spellings_in_one_text_are_one_entity(self, store: Graphed) -> None:
        text = "IBM is Ibm, and IBM"
        memory_id = await mention(store, text, "IBM", "Ibm")
        (only,) = await store.graph.entities_of(WORKSPACE, memory_id)
        assert (only.name, only.mentions, only.memories) == ("IBM", 3, 1)

    async def test_what_a_memory_speaks_of_comes_in_the_order_of_its_text(self, store: Graphed) -> None:
        text = "Grace met Ada and Bob"
        extraction = replace(named(text, "Bob", "Ada", "Grace"), extractor="other")
        unnamed = NewEntity(name="computing", type="topic", spans=())
        extraction = replace(extraction, entities=(unnamed, *extraction.entities))
        added = await put(store, sample_memory(text, extraction=extraction))
        found = await store.graph.entities_of(WORKSPACE, added.memory_id)
        assert [one.name for one in found] == ["Grace", "Ada", "Bob", "computing"]
        assert await store.graph.entities_of(WORKSPACE, "no such id") == []
        assert await store.graph.entities_of("elsewhere", added.memory_id) == []

    async def test_what_an_extractor_read_in_a_memory_is_counted(self, store: Graphed) -> None:
        memory_id = await extract(store, "Ada", "knows", "Grace")
        assert await store.graph.reading(WORKSPACE, memory_id, EXTRACTOR) == (2, 1)
        assert await store.graph.reading(WORKSPACE, memory_id, "other") is None
        assert await store.graph.reading("elsewhere", memory_id, EXTRACTOR) is None
        assert await store.graph.reading(WORKSPACE, "no such id", EXTRACTOR) is None
        empty = await mention(store, "nobody at all")
        assert await store.graph.reading(WORKSPACE, empty, EXTRACTOR) == (0, 0)

    @pytest.mark.parametrize("direction", ["out", "in", "both"])
    async def test_who_is_mentioned_together_is_so_in_both_directions(self, store: Graphed, direction: Any) -> None:
        await extract(store, "Ada", MENTIONED_WITH, "Grace", basis="mention")
        for name in ("Ada", "Grace"):
            found = await triples(store, name, direction=direction, types=[MENTIONED_WITH])
            assert found == [f"Ada {MENTIONED_WITH} Grace"]

    async def test_a_relation_has_all_its_evidence(self, store: Graphed) -> None:
        first = await extract(store, "Ada", "knows", "Grace", basis="extracted")
        second = await extract(store, "Ada", "knows", "Grace", extractor="other")
        ((distance, known),) = await relations_of(store, "Ada")
        assert (distance, known.subject.name, known.type, known.object.name) == (1, "Ada", "knows", "Grace")
        by_memory = {one.memory_id: (one.quote, one.start, one.end, one.extractor, one.basis) for one in known.evidence}
        assert by_memory == {
            first: ("Ada knows Grace", 0, 15, EXTRACTOR, "extracted"),
            second: ("Ada knows Grace", 0, 15, "other", "extracted"),
        }
        assert [one.memory_id for one in known.evidence] == [second, first]

    async def test_hidden_memories_are_no_evidence(self, store: Graphed) -> None:
        kept, deleted, replaced = [await extract(store, "Ada", "knows", "Grace") for _ in range(3)]
        await delete(store, deleted)
        await add(store, "it was somebody else", replaces=replaced)
        for wanted in ({}, {"ended": True}, {"at": datetime.now(UTC)}):
            ((_, known),) = await relations_of(store, "Ada", **wanted)
            assert [one.memory_id for one in known.evidence] == [kept], wanted

    @pytest.mark.parametrize("padding", [0, 65_530, 200_000])
    async def test_a_quote_is_cut_from_the_text_where_it_stands(self, store: Graphed, padding: int) -> None:
        before, quote = "é" * (padding // 2) + " " * (padding % 2), "Ada knows Grace and 数据 " + "more " * 100
        relation = said(before + quote, "Ada", "knows", "Grace", start=len(before), end=len(before + quote))
        await put(store, sample_memory(before + quote, extraction=relation))
        ((_, known),) = await relations_of(store, "Ada")
        assert known.evidence[0].quote == quote[:300]

    async def test_recording_twice_is_recording_once(self, store: Graphed) -> None:
        text = "Ada knows Grace"
        memory_id = await extract(store, "Ada", "knows", "Grace")
        before = await relations_of(store, "Ada"), await store.graph.counts(WORKSPACE)
        for _ in range(2):
            assert await store.graph.record(WORKSPACE, memory_id, said(text, "Ada", "knows", "Grace"))
        assert (await relations_of(store, "Ada"), await store.graph.counts(WORKSPACE)) == before
        assert await problems(store) == []

    async def test_an_extractor_replaces_what_it_read_before_and_nothing_else(self, store: Graphed) -> None:
        text = "Ada knows Grace and Alan"
        memory_id = await add(store, text)
        await store.graph.record(WORKSPACE, memory_id, said(text, "Ada", "knows", "Grace"))
        await store.graph.record(WORKSPACE, memory_id, said(text, "Ada", "knows", "Alan", extractor="other"))
        assert (await the(store, "Ada")).mentions == 1
        await store.graph.record(WORKSPACE, memory_id, named(text, "Grace"))
        assert await triples(store, "Ada") == ["Ada knows Alan"]
        await store.graph.record(WORKSPACE, memory_id, Extraction(extractor=EXTRACTOR))
        assert await store.graph.entities(WORKSPACE, ["Grace"]) == []
        assert [one.name for one in await store.graph.entities_of(WORKSPACE, memory_id)] == ["Ada", "Alan"]
        assert await problems(store) == []

    async def test_what_is_said_twice_in_one_memory_is_said_by_one_memory(self, store: Graphed) -> None:
        text = "Ada knows Grace"
        one = said(text, "Ada", "knows", "Grace")
        twice = replace(one, relations=(*one.relations, *one.relations, replace(one.relations[0], end=3)))
        await put(store, sample_memory(text, extraction=twice))
        await extract(store, "Ada", "likes", "Grace")
        await extract(store, "Ada", "likes", "Grace")
        assert await triples(store, "Ada") == ["Ada likes Grace", "Ada knows Grace"]
        known = (await relations_of(store, "Ada"))[1][1]
        assert [piece.quote for piece in known.evidence] == ["Ada knows Grace", "Ada"]

    async def test_a_memory_that_is_not_there_is_not_recorded(self, store: Graphed) -> None:
        mine = await add(store, "Ada knows Grace")
        for workspace, unknown in ((WORKSPACE, "no such id"), ("elsewhere", mine), (WORKSPACE, "\ud800")):
            assert not await store.graph.record(workspace, unknown, said("Ada knows Grace", "Ada", "knows", "Grace"))
        assert (await store.graph.counts(WORKSPACE)).entities == 0

    async def test_an_extraction_that_is_refused_keeps_the_memory_out_too(self, store: Graphed) -> None:
        text = "Ada knows Grace"
        wrong = replace(said(text, "Ada", "knows", "Grace"), entities=(entity_in(text, "Ada"),))
        with pytest.raises(InvalidInputError, match="among the entities"):
            await put(store, sample_memory(text, extraction=wrong))
        assert (await store.stats(WORKSPACE)).memories == 0
        assert (await store.graph.counts(WORKSPACE)).entities == 0

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param({"name": "\ud800"}, id="surrogate in name"),
            pytest.param({"name": "A\0da"}, id="NUL in name"),
            pytest.param({"name": " \n"}, id="empty name"),
            pytest.param({"name": "x" * 1001}, id="long name"),
            pytest.param({"type": ""}, id="empty type"),
            pytest.param({"type": "\udfff"}, id="surrogate in type"),
            pytest.param({"spans": ((0, 99),)}, id="span outside"),
            pytest.param({"spans": ((3, 1),)}, id="span backwards"),
        ],
    )
    async def test_an_entity_that_cannot_be_kept_is_refused(self, store: Graphed, wrong: dict[str, Any]) -> None:
        memory_id = await add(store, "Ada")
        good = NewEntity(name="Ada", type="person", spans=((0, 3),))
        with pytest.raises(InvalidInputError, match="entity"):
            await store.graph.record(
                WORKSPACE, memory_id, Extraction(extractor="x", entities=(replace(good, **wrong),))
            )
        assert await store.graph.unread(WORKSPACE, "x", 10) == ([memory_id], 1)

    async def test_a_relation_that_cannot_be_kept_is_refused(self, store: Graphed) -> None:
        text = "Ada knows Grace"
        memory_id = await add(store, text)
        for fields in ({"start": -1}, {"end": 99}, {"type": "\0"}, {"type": "\ud800"}):
            triple = {"type": "knows"} | fields
            with pytest.raises(InvalidInputError, match="relation"):
                await store.graph.record(WORKSPACE, memory_id, said(text, "Ada", "knows", "Grace", **triple))
        for extractor in ("\ud800", STATED):
            with pytest.raises(InvalidInputError, match="extractor"):
                await store.graph.record(WORKSPACE, memory_id, Extraction(extractor=extractor))

    @pytest.mark.parametrize("name", HOSTILE_NAMES.values(), ids=HOSTILE_NAMES)
    async def test_any_name_is_kept_and_found(self, store: Graphed, name: str) -> None:
        await extract(store, name, "is like", "Ada")
        shown = " ".join(name.split())
        assert (await the(store, name)).name == shown
        assert await triples(store, "Ada") == [f"{shown} is like Ada"]
        ((found, score),) = await store.graph.find(WORKSPACE, name, 1)
        assert (found.name, round(score, 6)) == (shown, 1)

    async def test_an_existing_memory_gets_what_was_extracted_too(self, store: Graphed) -> None:
        text = "Ada knows Grace"
        memory_id = await add(store, text)
        await delete(store, memory_id)
        for outcome in ("restored", "existing"):
            new = sample_memory(text, extraction=said(text, "Ada", "knows", "Grace"))
            assert (await put(store, new)).outcome == outcome
            assert await triples(store, "Ada") == ["Ada knows Grace"]
        assert (await the(store, "Ada")).memories == 1

    async def test_workspaces_have_graphs_of_their_own(self, store: Graphed) -> None:
        await extract(store, "Ada", "knows", "Grace", workspace="mine")
        await extract(store, "Ada", "knows", "Alan", workspace="yours")
        mine = await the(store, "Ada", "mine")
        assert await triples(store, "Ada", "yours") == ["Ada knows Alan"]
        assert await store.graph.entities("yours", [mine.id, "Grace"]) == []
        assert await store.graph.related("yours", [mine.id]) == ([], [])
        assert [one.name for one, _ in await store.graph.find("yours", "Ada Grace Alan", 9)] == [
            "Ada",
            "Alan",
        ]
        assert await store.graph.counts("mine") == GraphCounts(
            entities=2, facts=1, ended=0, together=0, mentions=2, memories=1, read={EXTRACTOR: 1}
        )
        assert (await store.graph.counts("nobody's")).entities == 0

    async def test_a_deleted_memory_takes_what_only_it_says_with_it_and_brings_it_back(self, store: Graphed) -> None:
        await extract(store, "Ada", "knows", "Grace")
        gone = await extract(store, "ADA", "likes", "Alan")
        before = await store.graph.counts(WORKSPACE)
        await delete(store, gone)
        assert await triples(store, "Ada") == ["Ada knows Grace"]
        assert await store.graph.entities(WORKSPACE, ["Alan"]) == []
        assert await store.graph.entities_of(WORKSPACE, gone) == []
        assert await store.graph.find(WORKSPACE, "Alan", 5) == []
        ada = await the(store, "Ada")
        assert (ada.name, ada.mentions, ada.memories) == ("Ada", 1, 1)
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.entities, counts.facts, counts.mentions, counts.memories) == (2, 1, 2, 1)
        assert counts.read == {EXTRACTOR: 1}
        assert await problems(store) == []
        await restore(store, gone)
        assert await store.graph.counts(WORKSPACE) == before
        assert sorted(await triples(store, "Ada")) == ["Ada knows Grace", "Ada likes Alan"]
        assert await problems(store) == []

    async def test_a_hidden_memory_can_be_read_and_is_shown_when_it_is_back(self, store: Graphed) -> None:
        text = "Ada knows Grace"
        memory_id = await add(store, text)
        await delete(store, memory_id)
        assert await store.graph.record(WORKSPACE, memory_id, said(text, "Ada", "knows", "Grace"))
        assert (await store.graph.counts(WORKSPACE)).entities == 0
        await restore(store, memory_id)
        assert await triples(store, "Ada") == ["Ada knows Grace"]
        assert await problems(store) == []

    async def test_purging_removes_what_only_the_purged_memory_mentioned(self, store: Graphed) -> None:
        await extract(store, "Ada", "knows", "Grace")
        gone = await extract(store, "Ada", "likes", "Alan")
        await store.graph.record(WORKSPACE, gone, said("Ada likes Alan", "Ada", "likes", "Alan", extractor="other"))
        await delete(store, gone)
        assert await purge_deleted(store) == 1
        assert await store.graph.counts(WORKSPACE) == replace(
            await store.graph.counts(WORKSPACE), entities=2, facts=1, mentions=2
        )
        assert await triples(store, "Ada", ended=True) == ["Ada knows Grace"]
        assert await problems(store) == []

    async def test_relations_are_followed_in_the_direction_that_is_asked_for(self, store: Graphed) -> None:
        await extract(store, "Ada", "knows", "Grace")
        await extract(store, "Alan", "knows", "Ada")
        assert await triples(store, "Ada", direction="out") == ["Ada knows Grace"]
        assert await triples(store, "Ada", direction="in") == ["Alan knows Ada"]
        assert sorted(await triples(store, "Ada")) == ["Ada knows Grace", "Alan knows Ada"]

    async def test_relations_come_by_distance_to_the_depth_that_is_asked_for(self, store: Graphed) -> None:
        chain = ["A", "B", "C", "D", "A"]
        for one, other in pairwise(chain):
            await extract(store, one, "to", other)
        found = await relations_of(store, "A", depth=9, direction="out")
        assert [(distance, one.object.name) for distance, one in found] == [(1, "B"), (2, "C"), (3, "D"), (4, "A")]
        assert [distance for distance, _ in await relations_of(store, "A", depth=2)] == [1, 1, 2, 2]
        assert len(await relations_of(store, "A")) == 2
        assert await relations_of(store, "A", depth=0) == []

    async def test_relations_of_some_types_are_followed_alone(self, store: Graphed) -> None:
        await extract(store, "A", "knows", "B")
        await extract(store, "A", "likes", "C")
        await extract(store, "C", "knows", "D")
        assert await triples(store, "A", types=["knows"], depth=3) == ["A knows B"]
        assert sorted(await triples(store, "A", types=["knows", "likes"], depth=2)) == [
            "A knows B",
            "A likes C",
            "C knows D",
        ]
        assert await triples(store, "A", types=["' OR 1=1 --"]) == []

    async def test_co_mentions_are_walked_and_returned_only_where_they_are_asked_for(self, store: Graphed) -> None:
        await extract(store, "A", MENTIONED_WITH, "B", basis="mention")
        await extract(store, "A", "knows", "C")
        await extract(store, "B", "knows", "D")
        assert await triples(store, "A", depth=3, ended=True) == ["A knows C"]
        assert await triples(store, "A", types=[MENTIONED_WITH], depth=2) == [f"A {MENTIONED_WITH} B"]
        found = await triples(store, "A", types=["knows", MENTIONED_WITH], depth=2)
        assert sorted(found) == ["A knows C", f"A {MENTIONED_WITH} B", "B knows D"]
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.facts, counts.ended, counts.together) == (2, 0, 1)

    async def test_those_with_most_evidence_come_first_within_the_limit(self, store: Graphed) -> None:
        for count, name in enumerate(["D", "C", "B"], start=1):
            for _ in range(count):
                await extract(store, "A", "knows", name)
        await extract(store, "B", "knows", "E")
        assert await triples(store, "A", depth=2) == ["A knows B", "A knows C", "A knows D", "B knows E"]
        assert await triples(store, "A", depth=2, limit=2) == ["A knows B", "A knows C"]
        assert await triples(store, "A", limit=0) == []

    async def test_several_entities_can_be_asked_for_at_once(self, store: Graphed) -> None:
        await extract(store, "A", "knows", "B")
        await extract(store, "C", "knows", "D")
        ids = [(await the(store, name)).id for name in ("A", "B")]
        about, found = await store.graph.related(WORKSPACE, [*ids, "c", ids[0], "no such id", "\ud800"])
        assert [one.name for one in about] == ["A", "B", "C"]
        assert sorted(one.subject.name for _, one in found) == ["A", "C"]
        assert await store.graph.related(WORKSPACE, []) == ([], [])

    async def test_memories_that_were_not_read_come_oldest_first_in_pages(self, store: Graphed) -> None:
        ids = [await add(store, f"memory {number}") for number in range(5)]
        await store.graph.record(WORKSPACE, ids[1], Extraction(extractor="x"))
        await delete(store, ids[3])
        assert await store.graph.unread(WORKSPACE, "x", 2) == ([ids[0], ids[2]], 3)
        assert await store.graph.unread(WORKSPACE, "x", 2, ids[2]) == ([ids[4]], 3)
        assert await store.graph.unread(WORKSPACE, "x", 2, ids[4]) == ([], 3)
        assert (await store.graph.unread(WORKSPACE, "y", 9))[1] == 4
        assert await store.graph.unread("elsewhere", "x", 9) == ([], 0)

    async def test_entities_are_found_by_words_of_their_names(self, store: Graphed) -> None:
        await mention(store, "Ada Lovelace, Ada Byron, Grace", "Ada Lovelace", "Ada Byron", "Grace")

        async def names(text: str) -> list[str]:
            found = await store.graph.find(WORKSPACE, text, 9)
            assert all(0 < score <= 1 for _, score in found)
            return [one.name for one, _ in found]

        assert await names("ada LOVELACE") == ["Ada Lovelace", "Ada Byron"]
        assert (await names("Where did Grace meet Ada?"))[0] == "Grace"
        assert await names("love") == ["Ada Lovelace"]
        assert [await names(text) for text in ("nobody", "", "\0", "' OR 1=1", '"*"')] == [[]] * 5
        assert len(await store.graph.find(WORKSPACE, "Ada", 1)) == 1
        with pytest.raises(InvalidInputError, match="text"):
            await names("\ud800")

    async def test_another_store_answers_every_question_from_now(self, store: Graphed, other: Graphed) -> None:
        """Earlier calls and their answers have no effect."""

        async def answers() -> tuple[Any, ...]:
            found = await other.graph.find(WORKSPACE, "Ada", 9)
            (_, unread), counts = await other.graph.unread(WORKSPACE, "x", 9), await other.graph.counts(WORKSPACE)
            entities = await other.graph.entities(WORKSPACE, ["Ada"])
            return len(entities), len(found), unread, counts.entities, await triples(other, "Ada")

        assert await answers() == (0, 0, 0, 0, [])
        memory = await extract(store, "Ada", "knows", "Grace")
        assert await answers() == (1, 1, 1, 2, ["Ada knows Grace"])
        assert [one.name for one in await other.graph.entities_of(WORKSPACE, memory)] == ["Ada", "Grace"]
        assert await other.graph.reading(WORKSPACE, memory, "x") is None
        await store.graph.record(WORKSPACE, memory, Extraction(extractor="x"))
        assert await answers() == (1, 1, 0, 2, ["Ada knows Grace"])
        assert await other.graph.reading(WORKSPACE, memory, "x") == (0, 0)
        await delete(store, memory)
        assert (await answers())[:4] == (0, 0, 0, 0)
        assert await other.graph.entities_of(WORKSPACE, memory) == []

    async def test_another_store_sees_at_once_what_was_recorded(self, store: Graphed, other: Graphed) -> None:
        first = await extract(store, "Ada", "knows", "Grace")
        assert await triples(other, "Ada") == ["Ada knows Grace"]
        await delete(other, first)
        assert await triples(store, "Ada") == []
        states = [extract(where, "Ada", "knows", f"Friend {number}") for number in range(8) for where in (store, other)]
        await asyncio.gather(*states)
        for where in (store, other):
            assert len(await relations_of(where, "Ada")) == 8
            assert (await the(where, "Ada")).memories == 16
        assert await problems(store) == []
