"""The contract of imported memories: they keep all their data and are imported once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from zapomni_core.testing.samples import (
    WORKSPACE,
    Graphed,
    add,
    delete,
    extract,
    mention,
    named,
    problems,
    purge_deleted,
    put,
    restore,
    sample_memory,
    searchable,
)
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError
from zapomni_db.filters import NO_FILTER
from zapomni_db.records import Added, Change, EmbedderIdentity, Event, Memory, NewFact, NewMemory, Origin
from zapomni_db.store import MemoryStore

ELSEWHERE = "elsewhere"
BORN = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
MAY, AUGUST = datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 8, 1, tzinfo=UTC)
ORIGIN = Origin(id="018df4a0-0000-7000-8000-000000000001", created_at=BORN)


class MemoryOriginContract(StoreContract):
    """The contract of a store on memories with an origin; here they come from another workspace."""

    async def test_memories_come_with_all_that_they_had(self, store: MemoryStore) -> None:
        first = await add(store, "first", metadata={"n": 1}, tags=("t",), author="Ada", timestamp=BORN, by="codex")
        await store.change(WORKSPACE, first, Change(metadata={"n": 2}), by="zapomni edit")
        second = await add(store, "second", replaces=first)
        third = await add(store, "third")
        await delete(store, third)
        await carry(store)
        assert await everything(store, ELSEWHERE) == await everything(store, WORKSPACE)
        assert await searchable(store, ELSEWHERE) == ["second"]
        assert [one.id for one, *_ in await everything(store, ELSEWHERE)] == [first, second, third]
        assert await problems(store) == []

    async def test_memories_come_once(self, store: MemoryStore, other: MemoryStore) -> None:
        for text in "abc":
            await add(store, text)
        assert {one.outcome for one in await carry(store)} == {"stored"}
        before = await everything(store, ELSEWHERE)
        assert {one.outcome for one in await carry(other)} == {"existing"}
        assert await everything(store, ELSEWHERE) == before
        assert (await store.stats(ELSEWHERE)).chunks == 3

    async def test_what_happened_to_a_memory_since_it_came_stays(self, store: MemoryStore) -> None:
        ids = [await add(store, text) for text in "abc"]
        await carry(store)
        await delete(store, ids[0], ELSEWHERE)
        await store.change(ELSEWHERE, ids[1], Change(metadata={"n": 1}))
        await put(store, sample_memory("d", replaces=ids[2]), ELSEWHERE)
        before = await everything(store, ELSEWHERE)
        await carry(store)
        assert await everything(store, ELSEWHERE) == before

    @pytest.mark.parametrize("is_deleted", [False, True], ids=["live", "deleted"])
    async def test_an_equal_memory_that_is_there_is_that_one(self, store: MemoryStore, is_deleted: bool) -> None:
        there = await add(store, "same")
        if is_deleted:
            await delete(store, there)
        before = await everything(store)
        added = await put(store, sample_memory("same", origin=ORIGIN))
        assert (added.outcome, added.memory_id) == ("existing", there)
        assert await everything(store) == before
        assert await store.get(WORKSPACE, ORIGIN.id) is None

    async def test_what_was_replaced_elsewhere_is_kept_beside_an_equal_memory(self, store: MemoryStore) -> None:
        there = await add(store, "old")
        replaced = replace(ORIGIN, replaced_by="018df4a0-0000-7000-8000-000000000002")
        added = await put(store, sample_memory("old", origin=replaced))
        assert (added.outcome, added.memory_id) == ("stored", ORIGIN.id)
        assert await searchable(store) == ["old"]
        assert (await put(store, sample_memory("old"))).memory_id == there

    async def test_what_an_equal_memory_had_replaced_elsewhere_is_replaced_by_the_one_that_is_there(
        self, store: MemoryStore
    ) -> None:
        there = await add(store, "new")
        later = "018df4a0-0000-7000-8000-000000000002"
        await put(store, sample_memory("old", origin=replace(ORIGIN, replaced_by=later)))
        await put(store, sample_memory("new", origin=replace(ORIGIN, id=later)))
        old, new = await store.get(WORKSPACE, ORIGIN.id), await store.get(WORKSPACE, there)
        assert old is not None
        assert new is not None
        assert (old.replaced_by, new.replaces) == (there, (ORIGIN.id,))
        assert await problems(store) == []

    async def test_a_memory_that_came_is_one_like_any_other(self, store: MemoryStore) -> None:
        old, gone = await add(store, "old"), await add(store, "gone")
        new = await add(store, "new", replaces=old)
        await delete(store, gone)
        await carry(store)
        again = await put(store, sample_memory("new"), ELSEWHERE)
        assert (again.outcome, again.memory_id) == ("existing", new)
        assert await restore(store, gone, ELSEWHERE)
        assert await searchable(store, ELSEWHERE) == ["gone", "new"]
        await delete(store, new, ELSEWHERE)
        await restore(store, old, ELSEWHERE)
        assert await searchable(store, ELSEWHERE) == ["old", "gone"]
        assert await purge_deleted(store, ELSEWHERE) == 1
        assert await searchable(store) == ["new"], "the other workspace has its own"
        assert await problems(store) == []

    async def test_its_embedder_is_that_of_the_workspace(self, store: MemoryStore) -> None:
        await add(store, "text")
        stranger = EmbedderIdentity("another", "model", 96)
        with pytest.raises(EmbedderMismatchError):
            await put(store, sample_memory("new", origin=ORIGIN, embedder=stranger))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"id": "\ud800"},
            {"replaced_by": "\ud800"},
            {"events": (Event(BORN, "added", "\ud800"),)},
        ],
        ids=["id", "replaced_by", "events"],
    )
    async def test_an_origin_that_cannot_be_kept_is_refused_with_the_others(
        self, store: MemoryStore, wrong: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInputError):
            await store.add(WORKSPACE, [sample_memory("a"), sample_memory("b", origin=replace(ORIGIN, **wrong))])
        assert await everything(store) == []

    async def test_only_memories_of_the_workspace_bring_something_along(self, store: MemoryStore) -> None:
        memory_id = await add(store, "text")
        assert await store.origins(ELSEWHERE, [memory_id]) == []
        found = await store.origins(WORKSPACE, ["no such id", memory_id, "\ud800"])
        assert [one.id for one in found] == [memory_id]


class SessionOriginContract(StoreContract):
    """The contract of a store on imported sessions, messages and documents."""

    async def test_a_session_comes_with_its_messages_in_their_order(self, store: Any) -> None:
        made = await store.sessions.create_session(WORKSPACE, "ada", {"plan": ["a"]})
        for number in range(5):
            await store.sessions.add_message(WORKSPACE, made.id, "user", sample_memory(str(number), key=""))
        await carry(store)
        here, there = [await store.sessions.history(place, made.id, 10) for place in (WORKSPACE, ELSEWHERE)]
        assert [one.text for one in there] == list("01234")
        assert here == there
        session = await store.sessions.session(WORKSPACE, made.id)
        assert await store.sessions.list_sessions(ELSEWHERE) == [session]
        await carry(store)
        assert await store.sessions.history(ELSEWHERE, made.id, 10) == there
        assert await problems(store) == []

    async def test_a_message_without_its_session_makes_one(self, store: Any) -> None:
        message = sample_memory("hi", key="", kind="message", conversation="s", origin=replace(ORIGIN, role="user"))
        await put(store, message)
        session = await store.sessions.session(WORKSPACE, "s")
        assert (session.created_at, session.updated_at) == (BORN, BORN)
        await store.sessions.add_message(WORKSPACE, "s", "user", sample_memory("again", key=""))
        assert [one.text for one in await store.sessions.history(WORKSPACE, "s", 10)] == ["hi", "again"]

    async def test_a_session_that_is_there_stays_as_it_is(self, store: Any) -> None:
        made = await store.sessions.create_session(WORKSPACE, "ada", {})
        assert not await store.sessions.put_session(WORKSPACE, replace(made, user_id="eve"))
        assert await store.sessions.session(WORKSPACE, made.id) == made
        assert await store.sessions.put_session(ELSEWHERE, made)

    async def test_sessions_are_listed_page_by_page(self, store: Any) -> None:
        made = [await store.sessions.create_session(WORKSPACE, str(number), {}) for number in range(5)]
        await store.sessions.create_session(ELSEWHERE, "x", {})
        found, page = [], await store.sessions.list_sessions(WORKSPACE, limit=2)
        while page:
            found += page
            page = await store.sessions.list_sessions(WORKSPACE, page[-1].id, 2)
        assert found == made

    async def test_documents_come_with_their_own_vectors_also_deleted_ones(self, store: Any) -> None:
        ids = []
        for text, vector in {"near": [1.0, 0.1], "gone": [1.0, 0.2], "plain": None}.items():
            own = None if vector is None else np.asarray(vector, np.float32)
            ids.append((await store.sessions.add_document(WORKSPACE, sample_memory(text, key=""), own)).memory_id)
        await delete(store, ids[1])
        await carry(store)
        await restore(store, ids[1], ELSEWHERE)
        asked = np.asarray([1.0, 0.0], np.float32)
        found = await store.sessions.nearest_documents(ELSEWHERE, asked, 10, NO_FILTER)
        assert [one.text for one, _ in found] == ["near", "gone"]
        assert found[0][0].vector.tolist() == np.asarray([1.0, 0.1], np.float32).tolist()
        assert [one.text for one in await store.sessions.documents(ELSEWHERE, ids)] == ["near", "gone", "plain"]


class GraphOriginContract(StoreContract):
    """The contract of a graph on the facts of imported memories."""

    async def test_facts_come_with_their_evidence_and_times(self, store: Graphed) -> None:
        igor = await add(store, "Igor owns the parser.")
        await store.graph.state_facts(
            WORKSPACE, igor, [NewFact(subject="Igor", relation="owns", object="parser", since=MAY)]
        )
        mira = await add(store, "Mira owns the parser, not Igor.", timestamp=AUGUST)
        facts = [
            NewFact(subject="parser", relation="owned_by", object=name, replaces=True, quote="Mira owns the parser")
            for name in ("Igor", "Mira")
        ]
        await store.graph.state_facts(WORKSPACE, mira, facts)
        await extract(store, "Igor", "works_at", "Acme", when=MAY)
        await extract(store, "Igor", "works_at", "Beta", when=AUGUST, replaces=True)
        await mention(store, "IGOR met Ada", "IGOR", "Ada", kind="person")
        hidden = await extract(store, "Ada", "lives_in", "Kyiv")
        await delete(store, hidden)
        await carry(store)
        assert await all_facts(store, ELSEWHERE) == await all_facts(store, WORKSPACE)
        assert len(await all_facts(store, ELSEWHERE)) == 5
        assert await store.graph.counts(ELSEWHERE) == await store.graph.counts(WORKSPACE)
        for at in (None, MAY, AUGUST - timedelta(days=1), AUGUST, datetime.now(UTC)):
            assert await around(store, "Igor", ELSEWHERE, at) == await around(store, "Igor", WORKSPACE, at)
        await restore(store, hidden, ELSEWHERE)
        await restore(store, hidden)
        assert await all_facts(store, ELSEWHERE) == await all_facts(store, WORKSPACE)
        assert await problems(store) == []

    async def test_what_an_extractor_has_read_is_not_read_again(self, store: Graphed) -> None:
        empty = named("nothing here")
        memory_id = (await put(store, sample_memory("nothing here", extraction=empty))).memory_id
        await add(store, "unread")
        await carry(store)
        assert await store.graph.reading(ELSEWHERE, memory_id, empty.extractor) == (0, 0)
        assert (await store.graph.unread(ELSEWHERE, empty.extractor, 10))[1] == 1

    async def test_a_stated_fact_that_came_is_known(self, store: Graphed) -> None:
        memory_id = await add(store, "Igor owns the parser.")
        fact = NewFact(subject="Igor", relation="owns", object="parser", since=MAY)
        await store.graph.state_facts(WORKSPACE, memory_id, [fact])
        await carry(store)
        assert (await store.graph.state_facts(ELSEWHERE, memory_id, [fact])).known == 1
        await carry(store)
        assert await store.origins(ELSEWHERE, [memory_id]) == await store.origins(WORKSPACE, [memory_id])

    async def test_what_a_purged_memory_said_leaves_nothing_where_it_came_to(self, store: Graphed) -> None:
        memory_id = await extract(store, "Ada", "likes", "tea")
        await carry(store)
        await delete(store, memory_id, ELSEWHERE)
        await purge_deleted(store, ELSEWHERE)
        assert (await store.graph.counts(ELSEWHERE)).entities == 0
        assert (await store.graph.counts(WORKSPACE)).entities == 2
        assert await problems(store) == []


async def carry(store: Any, source: str = WORKSPACE, target: str = ELSEWHERE) -> list[Added]:
    """Add all memories and sessions of a workspace to another one as they are, three at a time."""
    for session in await store.sessions.list_sessions(source) if store.sessions else ():
        await store.sessions.put_session(target, session)
    added: list[Added] = []
    after = ""
    while True:
        page = await store.list_memories(source, state="all", order="inserted", after=after, limit=3)
        origins = await store.origins(source, [one.id for one in page.memories])
        added += await store.add(target, [carried(*pair) for pair in zip(page.memories, origins, strict=True)])
        after = page.after
        if not after:
            return added


def carried(memory: Memory, origin: Origin) -> NewMemory:
    """A memory in the form that another store imports."""
    return sample_memory(
        memory.text,
        metadata=memory.metadata,
        key=memory.key,
        kind=memory.kind,
        tags=memory.tags,
        source=memory.source,
        author=memory.author,
        conversation=memory.conversation,
        timestamp=memory.timestamp,
        origin=origin,
    )


async def everything(store: Any, workspace: str = WORKSPACE) -> list[tuple[Memory, Sequence[Event], Origin]]:
    """All memories of a workspace but for its name, with their histories and what they bring along."""
    page = await store.list_memories(workspace, state="all", order="inserted")
    origins = await store.origins(workspace, [one.id for one in page.memories])
    return [
        (replace(memory, workspace=""), list(await store.history(workspace, memory.id)), origin)
        for memory, origin in zip(page.memories, origins, strict=True)
    ]


async def all_facts(store: Graphed, workspace: str) -> dict[str, Any]:
    """The statements of all relations of a workspace, without ids, which differ between workspaces."""
    return {
        f"{one.subject.name} {one.type} {one.object.name}": _about(one) for one in await store.graph.facts(workspace)
    }


async def around(store: Graphed, name: str, workspace: str, at: datetime | None) -> list[Any]:
    """The relations around an entity at a moment, but for their ids."""
    found = await store.graph.related(workspace, [name], depth=2, at=at)
    return [(distance, _about(one)) for distance, one in found.relations]


def _about(one: Any) -> tuple[Any, ...]:
    entities = [(end.name, end.type, end.mentions, end.memories) for end in (one.subject, one.object)]
    return one.type, entities, one.valid_from, one.valid_until, one.ended_by, one.evidence
