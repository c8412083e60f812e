"""The graph in SQLite: behaviour that the contract does not cover."""

import asyncio
from contextlib import closing
from itertools import combinations

import apsw
import pytest

from zapomni_core.testing.samples import (
    WORKSPACE,
    add,
    delete,
    extract,
    mention,
    named,
    put,
    relations_of,
    said,
    sample_memory,
    the,
    triples,
)
from zapomni_db.records import Extraction, NewEntity, NewRelation
from zapomni_db.sqlite import SQLiteStore

SECRET = "Xanthippe Quux"


def change(path, statement):
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(statement).fetchall()


async def test_purging_leaves_no_trace_of_the_graph_in_the_files(store, path):
    text = f"{SECRET} sings"
    gone = await mention(store, text, SECRET)
    await mention(store, "Ada stays", "Ada")
    await delete(store, gone)
    await store.purge(WORKSPACE, [gone])
    await store.close()
    for file in path.parent.iterdir():
        kept = file.read_bytes().lower()
        assert not [word for word in (b"xanthippe", b"quux") if word in kept], file


async def test_hidden_entities_do_not_count_towards_the_limit(store):
    hidden = [NewEntity(name=f"Person {number}", type="person", spans=()) for number in range(1100)]
    many = sample_memory("all of them", extraction=Extraction(extractor="x", entities=tuple(hidden)))
    gone = (await put(store, many)).memory_id
    await mention(store, "Person Zoe", "Person Zoe")
    await delete(store, gone)
    for text in ("person", "pers"):
        assert [one.name for one, _ in await store.graph.find(WORKSPACE, text, 5)] == ["Person Zoe"]


async def test_a_hub_reads_only_its_limit_and_returns_its_strongest_relations(store):
    names = [f"Friend {number}" for number in range(1500)]
    text = "Ada " + " ".join(names)
    entities = tuple(NewEntity(name=name, type="person", spans=()) for name in ("Ada", *names))
    relations = tuple(
        NewRelation(subject="Ada", type="knows", object=name, basis="extracted", start=0, end=3) for name in names
    )
    extraction = Extraction(extractor="x", entities=entities, relations=relations)
    await put(store, sample_memory(text, extraction=extraction))
    await extract(store, "Ada", "knows", "Friend 700")
    await extract(store, "Friend 700", "knows", "Grace")
    assert (await triples(store, "Ada", limit=3))[0] == "Ada knows Friend 700"
    assert len(await relations_of(store, "Ada", limit=1400)) == 1400
    assert len(await relations_of(store, "Ada", limit=9999, depth=2)) == 1501
    assert len(await relations_of(store, "Friend 3", depth=2, limit=20)) == 20


async def test_a_relation_reached_from_both_ends_counts_once_towards_the_limit(store):
    names = [f"Friend {number}" for number in range(6)]
    for one, other in combinations(names, 2):
        await extract(store, one, "knows", other)
    await extract(store, "Friend 5", "knows", "Grace")
    for limit in range(1, 17):
        found = await relations_of(store, "Friend 0", depth=2, limit=limit)
        assert len({relation.id for _, relation in found}) == limit
    assert len(await relations_of(store, "Friend 0", depth=2, limit=99)) == 16


async def test_only_the_newest_evidence_is_returned(store):
    ids = [await extract(store, "Ada", "knows", "Grace") for _ in range(12)]
    await delete(store, ids[-1])
    ((_, known),) = await relations_of(store, "Ada")
    assert [piece.memory_id for piece in known.evidence] == ids[-2:0:-1]


async def test_common_words_do_not_keep_a_name_from_being_found(store):
    names = [f"Team {number}" for number in range(1200)]
    entities = tuple(NewEntity(name=name, type="team", spans=()) for name in names)
    extraction = Extraction(extractor="x", entities=entities)
    await put(store, sample_memory("teams", extraction=extraction))
    found = await store.graph.find(WORKSPACE, "team 1199", 3)
    assert found[0][0].name == "Team 1199"


async def test_concurrent_records_of_one_memory_are_each_whole(store):
    text = "Ada knows Grace and Alan"
    memory_id = await add(store, text)
    readings = [said(text, "Ada", "knows", name) for name in ("Grace", "Alan")] * 6
    await asyncio.gather(*(store.graph.record(WORKSPACE, memory_id, one) for one in readings))
    assert len(await triples(store, "Ada")) == 1
    assert await store.check() == []


DAMAGE = {
    "DELETE FROM reading": "mentions belong to no reading",
    "INSERT INTO reading VALUES(99, 'x')": "1 readings belong to no memory",
    "DELETE FROM spelling": "mentions name no entity",
    "DELETE FROM entity": "spellings belong to no entity",
    "DELETE FROM mention": "spellings are not counted rightly",
    "UPDATE spelling SET live = 7 WHERE id = 1": "1 spellings are not counted rightly",
    "UPDATE entity SET memories = 7 WHERE id = 1": "1 entities are not counted rightly",
    "UPDATE entity SET mentions = 7 WHERE id = 1": "1 entities are not counted rightly",
    "DELETE FROM entity_word": "entities cannot be found by words",
    "INSERT INTO entity_word VALUES('default', 'x', 99)": "1 names belong to no entity",
    "DELETE FROM relation": "pieces of evidence speak of no relation",
    "DELETE FROM evidence": "relations have no evidence",
    "UPDATE relation SET evidence = 7": "relations are not counted rightly",
    "UPDATE relation SET object = 99": "relations lack one of their entities",
    "UPDATE relation SET ended_by = 99": "relations were ended by a memory that is not live",
    "INSERT INTO period VALUES(99, 0, 0, 0, 0)": "1 periods belong to no relation",
    "UPDATE entity SET key = 'other' WHERE id = 1": "1 entities are not what was stored",
    "UPDATE spelling SET name = 'other' WHERE id = 1": "1 spellings are not what was stored",
    "UPDATE relation SET type = 'other'": "1 relations are not what was stored",
}


@pytest.mark.parametrize("statement", DAMAGE, ids=range(len(DAMAGE)))
async def test_damage_to_the_graph_is_detected(store, path, statement):
    await extract(store, "Ada", "knows", "Grace")
    assert await store.check() == []
    await store.close()
    change(path, statement)
    damaged = SQLiteStore(path)
    try:
        assert DAMAGE[statement] in " ".join(await damaged.check())
    finally:
        await damaged.close()


async def test_an_entity_without_places_is_counted_by_memories(store):
    extraction = Extraction(extractor="x", entities=(NewEntity(name="Ada", type="person", spans=()),))
    await put(store, sample_memory("she", extraction=extraction))
    ada = await the(store, "Ada")
    assert (ada.mentions, ada.memories) == (0, 1)
    assert await store.check() == []


async def test_two_extractors_that_name_a_place_name_one_place(store):
    memory_id = await mention(store, "Ada", "Ada")
    await store.graph.record(WORKSPACE, memory_id, named("Ada", "Ada", extractor="other"))
    ada = await the(store, "Ada")
    assert (ada.mentions, ada.memories) == (1, 1)
    assert await store.check() == []


async def test_invalid_names_and_workspaces_have_no_entities(store):
    await mention(store, "Ada", "Ada")
    for workspace, name in ((WORKSPACE, "\ud800"), ("\ud800", "Ada"), (WORKSPACE, "0" * 32), (WORKSPACE, "zz")):
        assert await store.graph.entities(workspace, [name]) == []
        assert await store.graph.entities_of(workspace, name) == []


async def test_purging_a_memory_without_entities_leaves_the_graph_alone(store):
    await mention(store, "Ada", "Ada")
    gone = await add(store, "never read")
    await delete(store, gone)
    await store.purge(WORKSPACE, [gone])
    assert (await the(store, "Ada")).memories == 1
    assert await store.check() == []
