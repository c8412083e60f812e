"""The part of a graph's contract about facts that agents state: evidence and time."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
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
    kept,
    problems,
    put,
    relations_of,
    sample_memory,
    the,
    triples,
)
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.records import MENTIONED_WITH, STATED, Added, Extraction, FactsStated, NewFact, Relation

OWNERS = "Igor owns the parser. Since May it is Lena."
IGOR = NewFact(subject="Igor", relation="owns", object="parser")
LENA = NewFact(subject="Lena", relation="owns", object="parser")
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
MAY = datetime(2024, 5, 1, tzinfo=UTC)
AUGUST = datetime(2024, 8, 1, tzinfo=UTC)
FAR_AHEAD = datetime(9000, 1, 1, tzinfo=UTC)

# The objects of "project uses ..." for facts of one subject and relation.
MYSQL, POSTGRES = (NewFact(subject="Project", relation="uses", object=name) for name in ("MySQL", "Postgres"))

UNKNOWN_FACTS = {
    "empty subject": {"subject": " \n"},
    "empty object": {"object": ""},
    "empty relation": {"relation": ""},
    "relation of signs": {"relation": "->"},
    "long subject": {"subject": "x" * 1001},
    "long object": {"object": "x" * 10_000},
    "long relation": {"relation": "x" * 101},
    "long type": {"object_type": "x" * 101},
    "NUL in a name": {"subject": "Ig\0or"},
    "surrogate in a name": {"object": "\ud800"},
    "surrogate in a relation": {"relation": "\udfff"},
    "surrogate in a type": {"subject_type": "\udfff"},
    "surrogate in a quote": {"quote": "\ud800"},
    "a fact of one entity": {"object": "IGOR"},
    "a quote that is not there": {"quote": "Igor wrote the parser"},
    "a long quote": {"quote": "x" * 10_001},
    "until before since": {"since": AUGUST, "until": MAY},
    "co-mention": {"relation": "Mentioned with"},
}


async def state(store: Graphed, memory_id: str, *facts: NewFact, workspace: str = WORKSPACE) -> FactsStated:
    """State facts of a memory."""
    return await store.graph.state_facts(workspace, memory_id, facts)


async def stated(store: Graphed, text: str, *facts: NewFact, when: datetime | None = None) -> str:
    """The id of a new memory with these facts."""
    memory_id = await add(store, text, key="", timestamp=when)
    await state(store, memory_id, *facts)
    return memory_id


async def replaced_by(store: Graphed, old: str, text: str, **fields: Any) -> Added:
    """Add a memory that replaces another."""
    return await put(store, sample_memory(text, replaces=old, **fields))


async def relations_by_triple(store: Graphed, name: str, **wanted: Any) -> dict[str, Relation]:
    """The relations around a name, keyed by their triple as text."""
    found = await relations_of(store, name, **wanted)
    return {f"{one.subject.name} {one.type} {one.object.name}": one for _, one in found}


async def snapshot(store: Graphed) -> Sequence[Any]:
    """The facts and counts of the graph."""
    return await store.graph.facts(WORKSPACE), await store.graph.counts(WORKSPACE)


class FactContract(StoreContract):
    """The contract of a graph on facts that agents state."""

    # Stored fields.

    async def test_a_fact_is_a_relation_with_its_memory_as_evidence(self, store: Graphed) -> None:
        memory_id = await add(store, OWNERS)
        fact = replace(IGOR, subject_type="Person", object_type="software component", since=MAY)
        assert await state(store, memory_id, fact) == (1, 0, 0, ())
        ((_, relation),) = await relations_of(store, "igor")
        assert (relation.subject.name, relation.type, relation.object.name) == ("Igor", "owns", "parser")
        assert (relation.subject.type, relation.object.type) == ("person", "software_component")
        assert (relation.valid_from, relation.valid_until, relation.ended_by) == (MAY, None, None)
        (evidence,) = relation.evidence
        assert (evidence.memory_id, evidence.extractor, evidence.basis) == (memory_id, STATED, "stated")
        assert [one.name for one in await store.graph.entities_of(WORKSPACE, memory_id)] == ["Igor", "parser"]
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.entities, counts.facts, counts.mentions, counts.read) == (2, 1, 2, {})
        assert await problems(store) == []

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("Works at", "works_at"),
            ("works-at", "works_at"),
            ("worksAt", "works_at"),
            ("  WORKS   AT ", "works_at"),
            ("работает в", "работает_в"),
            ("काम करता है", "काम_करता_है"),
            ("工作于", "工作于"),
        ],
    )
    async def test_a_relation_is_kept_in_snake_case(self, store: Graphed, given: str, kept: str) -> None:
        await stated(store, OWNERS, replace(IGOR, relation=given))
        assert await triples(store, "Igor") == [f"Igor {kept} parser"]

    async def test_names_are_compared_by_key_and_by_nothing_else(self, store: Graphed) -> None:
        await stated(store, "Ada Lovelace knows Grace", replace(IGOR, subject="Ada Lovelace", object="Grace"))
        others = enumerate(("ADA\n  lovelace", "\uff21da Lovelace", "Ada", "Ada Lovelac"))
        await stated(store, "x", *(replace(IGOR, subject=name, object=f"thing {number}") for number, name in others))
        assert len(await triples(store, "Ada Lovelace")) == 3
        assert len(await triples(store, "Ada")) == 1

    async def test_an_id_names_the_entity_of_this_workspace(self, store: Graphed) -> None:
        await stated(store, "Ada Lovelace", replace(IGOR, subject="Ada Lovelace", object="Grace"))
        ada = await the(store, "Ada Lovelace")
        text = "Ada Lovelace wrote the notes. She was a countess."
        memory_id = await stated(store, text, replace(IGOR, subject=ada.id, relation="wrote", object="notes"))
        relation = (await relations_by_triple(store, "Ada Lovelace"))["Ada Lovelace wrote notes"]
        assert relation.subject.id == ada.id
        assert relation.evidence[0].quote == "Ada Lovelace wrote the notes."
        there = await put(store, sample_memory(text), "elsewhere")
        await state(store, there.memory_id, replace(IGOR, subject=ada.id), workspace="elsewhere")
        ((_, elsewhere),) = await relations_of(store, "parser", "elsewhere")
        assert elsewhere.subject.name == ada.id  # not an id there, so a name
        with pytest.raises(InvalidInputError, match="fact 1"):
            await state(store, memory_id, replace(IGOR, subject=ada.id, object="ada LOVELACE"))

    @pytest.mark.parametrize(
        ("text", "quote", "evidence"),
        [
            pytest.param(OWNERS, "Igor  owns\nthe parser", "Igor owns the parser", id="a quote, white space folded"),
            pytest.param(f"Hello! {OWNERS}", "", "Igor owns the parser.", id="the sentence with both names"),
            pytest.param("- Igor, PARSER\n- Lena, lexer", "", "- Igor, PARSER", id="an item of a list"),
            pytest.param("是Igor。parser和Igor一起。好", "", "parser和Igor一起。", id="a script without spaces"),
            pytest.param("Igor. A parser.", "", "Igor. A parser.", id="no sentence has both"),
            pytest.param("He owns it.", "", "He owns it.", id="no name is there"),
            pytest.param("Igorevich owns parsers. Igor has a parser.", "", "Igor has a parser.", id="whole words"),
            pytest.param("И\u0306. Straße: IGOR, \uff50arser! No.", "", "Straße: IGOR, \uff50arser!", id="other forms"),
            pytest.param("Igor: parser" + "!" * 500, "", "Igor: parser" + "!" * 288, id="300 characters are shown"),
        ],
    )
    async def test_the_evidence_is_the_quote_or_the_sentence_or_the_memory(
        self, store: Graphed, text: str, quote: str, evidence: str
    ) -> None:
        await stated(store, text, replace(IGOR, quote=quote))
        ((_, relation),) = await relations_of(store, "Igor")
        (piece,) = relation.evidence
        assert piece.quote == evidence
        assert text[piece.start : piece.end].startswith(evidence)

    # Refusals.

    @pytest.mark.parametrize("wrong", UNKNOWN_FACTS.values(), ids=UNKNOWN_FACTS)
    async def test_a_bad_fact_is_named_by_its_number_and_no_fact_of_the_call_is_kept(
        self, store: Graphed, wrong: dict[str, Any]
    ) -> None:
        memory_id = await stated(store, OWNERS, LENA)
        before = await snapshot(store)
        with pytest.raises(InvalidInputError, match=r"^fact 2: "):
            await state(store, memory_id, IGOR, replace(IGOR, **wrong), LENA)
        assert await snapshot(store) == before
        assert await problems(store) == []

    async def test_facts_are_stated_of_a_live_memory(self, store: Graphed) -> None:
        mine, deleted, old = [await add(store, f"{OWNERS} {number}") for number in range(3)]
        await delete(store, deleted)
        new = (await replaced_by(store, old, "it is Lena")).memory_id
        for workspace, memory_id in ((WORKSPACE, "no such id"), ("elsewhere", mine), (WORKSPACE, "\ud800")):
            with pytest.raises(MemoryNotFoundError):
                await state(store, memory_id, IGOR, workspace=workspace)
        with pytest.raises(MemoryNotFoundError, match="deleted"):
            await state(store, deleted, IGOR)
        with pytest.raises(MemoryNotFoundError, match=new):
            await state(store, old, IGOR)
        assert await store.graph.facts(WORKSPACE) == []

    async def test_no_facts_are_no_facts(self, store: Graphed) -> None:
        assert await state(store, await add(store, OWNERS)) == (0, 0, 0, ())

    # Repetition.

    async def test_stating_a_fact_again_changes_nothing(self, store: Graphed) -> None:
        fact = replace(IGOR, since=MAY)
        memory_id = await stated(store, OWNERS, fact)
        before = await snapshot(store)
        again = (fact, replace(fact, subject="IGOR", relation="Owns"), replace(fact, quote="Igor owns"))
        assert (await state(store, memory_id, *again))[:3] == (0, 3, 0)
        assert await snapshot(store) == before
        assert await problems(store) == []

    async def test_a_fact_that_ended_stays_so_when_its_memory_states_it_again(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, IGOR)
        await state(store, memory_id, replace(LENA, replaces=True), replace(MYSQL, until=MAY))
        assert await triples(store, "Igor", ended=True) == ["Igor owns parser"]
        before = await snapshot(store)
        assert (await state(store, memory_id, IGOR, replace(LENA, replaces=True)))[:3] == (0, 2, 0)
        assert await snapshot(store) == before

    async def test_the_same_fact_of_another_memory_is_known_and_more_evidence(self, store: Graphed) -> None:
        first = await stated(store, OWNERS, IGOR)
        second = await add(store, "Parser? Igor!")
        assert (await state(store, second, IGOR))[:3] == (0, 1, 0)
        ((_, relation),) = await relations_of(store, "Igor")
        assert [one.memory_id for one in relation.evidence] == [second, first]
        assert (await store.graph.counts(WORKSPACE)).facts == 1

    async def test_a_fact_that_an_extractor_read_is_known(self, store: Graphed) -> None:
        memory_id = await extract(store, "Igor", "owns", "parser")
        assert (await state(store, memory_id, IGOR))[:3] == (0, 1, 0)
        ((_, relation),) = await relations_of(store, "Igor")
        assert {one.basis for one in relation.evidence} == {"stated", "extracted"}

    async def test_a_fact_given_twice_in_a_call_is_new_once(self, store: Graphed) -> None:
        memory_id = await add(store, OWNERS)
        assert (await state(store, memory_id, IGOR, IGOR))[:3] == (1, 1, 0)

    # When a fact was true.

    async def test_a_later_statement_says_since_when(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, IGOR)
        await state(store, memory_id, replace(IGOR, since=MAY))
        ((_, relation),) = await relations_of(store, "Igor")
        assert (relation.valid_from, relation.valid_until) == (MAY, None)
        assert await triples(store, "Igor", at=AUGUST) == ["Igor owns parser"]
        assert await triples(store, "Igor", at=LONG_AGO) == []
        await state(store, memory_id, replace(IGOR, since=LONG_AGO))
        ((_, relation),) = await relations_of(store, "Igor")
        assert relation.valid_from == MAY  # which was said before

    async def test_until_ends_a_fact(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, replace(IGOR, since=MAY))
        later = await add(store, "Igor has left the parser in August")
        assert (await state(store, later, replace(IGOR, until=AUGUST)))[:3] == (0, 1, 1)
        assert await triples(store, "Igor") == []
        ((_, relation),) = await relations_of(store, "Igor", ended=True)
        assert (relation.valid_from, relation.valid_until, relation.ended_by) == (MAY, AUGUST, None)
        assert {one.memory_id for one in relation.evidence} == {memory_id, later}
        shown = [await triples(store, "Igor", at=at) for at in (LONG_AGO, MAY, AUGUST)]
        assert shown == [[], ["Igor owns parser"], []]
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.facts, counts.ended) == (0, 1)

    async def test_an_end_to_come_ends_nothing_yet(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, IGOR)
        assert (await state(store, memory_id, replace(IGOR, until=FAR_AHEAD)))[:3] == (0, 1, 0)
        assert await triples(store, "Igor") == ["Igor owns parser"]
        assert await triples(store, "Igor", at=FAR_AHEAD) == []

    async def test_an_end_alone_leaves_the_begin_unknown(self, store: Graphed) -> None:
        memory_id = await add(store, OWNERS)
        assert (await state(store, memory_id, replace(IGOR, until=MAY)))[:3] == (1, 0, 0)
        assert await triples(store, "Igor", at=LONG_AGO) == ["Igor owns parser"]
        ((_, relation),) = await relations_of(store, "Igor", ended=True)
        assert (relation.valid_from, relation.valid_until) == (None, MAY)

    async def test_an_end_can_be_corrected(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, replace(IGOR, since=LONG_AGO, until=MAY))
        for until in (AUGUST, MAY - timedelta(days=9)):
            await state(store, memory_id, replace(IGOR, until=until))
            ((_, relation),) = await relations_of(store, "Igor", ended=True)
            assert (relation.valid_from, relation.valid_until) == (LONG_AGO, until)

    async def test_a_fact_that_ended_can_be_true_again(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, replace(IGOR, since=LONG_AGO, until=MAY))
        await state(store, memory_id, replace(IGOR, since=AUGUST))
        between = MAY + (AUGUST - MAY) / 2
        shown = [bool(await triples(store, "Igor", at=at)) for at in (LONG_AGO, between, AUGUST)]
        assert shown == [True, False, True]
        assert await triples(store, "Igor") == ["Igor owns parser"]
        ((_, earlier),) = await relations_of(store, "Igor", at=LONG_AGO)
        assert (earlier.valid_from, earlier.valid_until) == (LONG_AGO, MAY)

    async def test_an_earlier_time_can_be_stated_later(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, replace(IGOR, since=AUGUST))
        assert (await state(store, memory_id, replace(IGOR, since=LONG_AGO, until=MAY)))[:3] == (0, 1, 0)
        assert await triples(store, "Igor") == ["Igor owns parser"]
        shown = [bool(await triples(store, "Igor", at=at)) for at in (LONG_AGO, MAY, AUGUST)]
        assert shown == [True, False, True]

    async def test_without_a_date_the_timestamp_of_the_memory_counts(self, store: Graphed) -> None:
        await stated(store, OWNERS, IGOR, when=MAY)
        ((_, relation),) = await relations_of(store, "Igor")
        assert relation.valid_from == MAY
        assert await triples(store, "Igor", at=AUGUST) == ["Igor owns parser"]
        assert await triples(store, "Igor", at=LONG_AGO) == []

    # One fact replaces others.

    async def test_a_replacing_fact_ends_the_others_when_it_begins(self, store: Graphed) -> None:
        await stated(store, "The project uses MySQL", MYSQL)
        correction = await add(store, "Since May, the project uses Postgres")
        assert (await state(store, correction, replace(POSTGRES, since=MAY, replaces=True)))[:3] == (1, 0, 1)
        assert await triples(store, "Project") == ["Project uses Postgres"]
        history = await relations_by_triple(store, "Project", ended=True)
        old, new = history["Project uses MySQL"], history["Project uses Postgres"]
        assert (old.valid_from, old.valid_until, old.ended_by) == (None, MAY, correction)
        assert (new.valid_from, new.valid_until, new.ended_by) == (MAY, None, None)
        assert await triples(store, "Project", at=LONG_AGO) == ["Project uses MySQL"]
        assert await triples(store, "Project", at=AUGUST) == ["Project uses Postgres"]
        assert await problems(store) == []

    async def test_without_a_date_the_others_end_now_or_at_the_timestamp(self, store: Graphed) -> None:
        first = await stated(store, "MySQL", replace(MYSQL, since=LONG_AGO))
        dated = await stated(store, "Postgres", replace(POSTGRES, replaces=True), when=MAY)
        old = (await relations_by_triple(store, "Project", ended=True))["Project uses MySQL"]
        assert (old.valid_from, old.valid_until, old.ended_by) == (LONG_AGO, MAY, dated)
        oracle = replace(MYSQL, object="Oracle", replaces=True)
        before = (await kept(store, first)).created_at
        await stated(store, "Oracle", oracle)
        ended = (await relations_by_triple(store, "Project", ended=True))["Project uses Postgres"]
        assert ended.valid_until is not None
        assert ended.valid_until > before
        assert await triples(store, "Project") == ["Project uses Oracle"]

    async def test_a_replacing_fact_ends_what_began_later_at_its_begin(self, store: Graphed) -> None:
        await stated(store, "MySQL", replace(MYSQL, since=AUGUST))
        await stated(store, "Postgres", replace(POSTGRES, since=MAY, replaces=True))
        old = (await relations_by_triple(store, "Project", ended=True))["Project uses MySQL"]
        assert (old.valid_from, old.valid_until) == (AUGUST, AUGUST)
        for at in (LONG_AGO, MAY, AUGUST, FAR_AHEAD):
            assert "Project uses MySQL" not in await triples(store, "Project", at=at)

    async def test_a_fact_replaces_those_of_its_own_subject_and_relation_alone(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, IGOR, replace(MYSQL, relation="avoids"))
        answer = await state(store, memory_id, replace(LENA, replaces=True), replace(POSTGRES, replaces=True))
        assert answer == (2, 0, 0, ())
        assert len(await triples(store, "parser")) == len(await triples(store, "Project")) == 2

    async def test_a_replacing_fact_leaves_what_was_over(self, store: Graphed) -> None:
        over = replace(MYSQL, since=LONG_AGO, until=AUGUST)
        await stated(store, "MySQL", over)
        assert (await state(store, await add(store, "x"), replace(POSTGRES, since=MAY, replaces=True))).ended == 0
        history = await relations_by_triple(store, "Project", ended=True)
        assert history["Project uses MySQL"].valid_until == AUGUST

    async def test_within_a_call_those_that_replace_come_last(self, store: Graphed) -> None:
        memory_id = await add(store, "From MySQL to Postgres in May")
        answer = await state(store, memory_id, replace(POSTGRES, since=MAY, replaces=True), MYSQL)
        assert answer == (2, 0, 0, ())
        assert await triples(store, "Project") == ["Project uses Postgres"]
        assert await triples(store, "Project", at=LONG_AGO) == ["Project uses MySQL"]

    async def test_what_was_replaced_can_be_stated_anew_and_replaced_back(self, store: Graphed) -> None:
        await stated(store, "MySQL", MYSQL)
        await stated(store, "Postgres", replace(POSTGRES, replaces=True))
        back = await add(store, "MySQL again")
        assert (await state(store, back, replace(MYSQL, replaces=True)))[:3] == (0, 1, 1)
        assert await triples(store, "Project") == ["Project uses MySQL"]
        ended = (await relations_by_triple(store, "Project", ended=True))["Project uses Postgres"]
        assert ended.ended_by == back

    async def test_a_stated_fact_replaces_what_an_extractor_read_whatever_its_date(self, store: Graphed) -> None:
        await extract(store, "Project", "uses", "MySQL", replaces=True)
        await stated(store, "Postgres", replace(POSTGRES, since=MAY, replaces=True))
        assert await triples(store, "Project") == ["Project uses Postgres"]

    async def test_other_current_facts_are_named(self, store: Graphed) -> None:
        await stated(store, "MySQL", replace(MYSQL, since=MAY))
        await stated(store, "Oracle", replace(MYSQL, object="Oracle", until=MAY))
        await extract(store, "Project", MENTIONED_WITH, "Redis", basis="mention")
        memory_id = await add(store, "Postgres")
        sqlite = replace(MYSQL, object="SQLite")
        answer = await state(store, memory_id, POSTGRES, sqlite, replace(POSTGRES, relation="likes"))
        assert [(one.object.name, one.valid_from) for one in answer.also_current] == [("MySQL", MAY)]
        many = [replace(MYSQL, object=f"Store {number}") for number in range(12)]
        await stated(store, "many", *many)
        assert len((await state(store, memory_id, replace(POSTGRES, since=MAY))).also_current) == 10
        assert (await state(store, memory_id, replace(POSTGRES, until=AUGUST))).also_current == ()

    # Facts follow their memory.

    async def test_all_facts_come_in_the_order_in_which_they_were_met(self, store: Graphed) -> None:
        memory_id = await stated(store, OWNERS, IGOR, replace(LENA, until=MAY))
        await extract(store, "Igor", MENTIONED_WITH, "Lena", basis="mention")
        await extract(store, "Ada", "knows", "Grace")
        gone = await stated(store, "x", MYSQL)
        await delete(store, gone)
        await state(store, memory_id, POSTGRES, IGOR)
        everything = await store.graph.facts(WORKSPACE)
        assert [one.subject.name for one in everything] == ["Igor", "Lena", "Ada", "Project"]
        assert everything[1].valid_until == MAY
        first = await store.graph.facts(WORKSPACE, limit=3)
        assert first + await store.graph.facts(WORKSPACE, first[-1].id, 3) == everything
        assert await store.graph.facts(WORKSPACE, everything[-1].id) == []
        assert await store.graph.facts("elsewhere") == []
        for workspace, after in ((WORKSPACE, "nowhere"), ("elsewhere", first[-1].id)):
            with pytest.raises(InvalidInputError, match="after"):
                await store.graph.facts(workspace, after)

    async def test_workspaces_have_facts_of_their_own(self, store: Graphed) -> None:
        await stated(store, OWNERS, MYSQL)
        there = (await put(store, sample_memory(OWNERS), "elsewhere")).memory_id
        answer = await state(store, there, replace(POSTGRES, replaces=True), workspace="elsewhere")
        assert answer == (1, 0, 0, ())
        assert await triples(store, "Project") == ["Project uses MySQL"]
        assert await triples(store, "Project", "elsewhere") == ["Project uses Postgres"]

    async def test_two_callers_state_facts_at_once(self, store: Graphed, other: Graphed) -> None:
        memory_id = await add(store, "many databases")
        facts = [replace(MYSQL, object=f"Database {number}") for number in range(12)]
        calls = [state(where, memory_id, fact, POSTGRES) for fact in facts for where in (store, other)]
        answers = await asyncio.gather(*calls)
        assert sum(one.new for one in answers) == 13
        assert sum(one.known for one in answers) == 48 - 13
        for where in (store, other):
            assert len(await where.graph.facts(WORKSPACE)) == 13
            assert (await the(where, "Project")).memories == 1
        assert await problems(store) == []

    async def test_callers_that_replace_at_once_leave_one_current(self, store: Graphed, other: Graphed) -> None:
        memory_id = await add(store, "many databases")
        facts = [replace(MYSQL, object=f"Database {number}", replaces=True) for number in range(8)]
        await asyncio.gather(*(state(where, memory_id, fact) for fact in facts for where in (store, other)))
        assert len(await triples(store, "Project")) == 1
        assert await triples(other, "Project") == await triples(store, "Project")
        assert len(await triples(store, "Project", ended=True)) == 8

    async def test_facts_of_names_that_the_text_does_not_hold_are_kept(self, store: Graphed) -> None:
        memory_id = await stated(store, "He owns it.", IGOR)
        found = await store.graph.entities_of(WORKSPACE, memory_id)
        assert [(one.name, one.mentions, one.memories) for one in found] == [("Igor", 0, 1), ("parser", 0, 1)]
        text = "Igor, who is He"
        extraction = Extraction(extractor=EXTRACTOR, entities=(entity_in(text, "Igor", "person"),))
        await put(store, sample_memory(text, extraction=extraction))
        igor = await the(store, "igor")
        assert (igor.type, igor.mentions, igor.memories) == ("person", 1, 2)
        assert await problems(store) == []
