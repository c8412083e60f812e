"""The contract of a store of sessions as a test class: subclass it, make a store, and pytest does the rest."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zapomni_core.testing.samples import (
    WORKSPACE,
    ask,
    delete,
    problems,
    purge_deleted,
    put,
    restore,
    sample_chunk,
    sample_memory,
    searchable,
)
from zapomni_core.testing.store_contracts.memories import ANY_TEXTS, LONE_SURROGATE
from zapomni_core.testing.store_contracts.origins import SessionOriginContract
from zapomni_db.arrays import Vector
from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter
from zapomni_db.records import DocumentRecord, MessageRecord

NO_FILTER = Filter()
SESSION = "5f6c3a52-0000-4000-8000-000000000001"
ANOTHER_SESSION = "5f6c3a52-0000-4000-8000-000000000002"


class SessionStoreContract(SessionOriginContract):
    """The contract of a store of sessions.

    ```python
    class TestMySessions(SessionStoreContract):
        async def make_store(self, tmp_path):
            return MyStore(tmp_path / "store")
    ```
    """

    async def test_a_message_comes_back_as_it_was_kept(self, store: Any) -> None:
        before = datetime.now(UTC) - timedelta(minutes=10)
        message_id = await say(store, "What is tea?", role="assistant", metadata={"tokens": 3, "deep": {"a": [1.5]}})
        (message,) = await history(store)
        assert (message.id, message.session_id, message.role) == (message_id, SESSION, "assistant")
        assert (message.text, message.metadata) == ("What is tea?", {"tokens": 3, "deep": {"a": [1.5]}})
        assert before < message.created_at < datetime.now(UTC) + timedelta(minutes=10)

    @pytest.mark.parametrize("text", ANY_TEXTS, ids=range(len(ANY_TEXTS)))
    async def test_any_message_and_any_document_come_back_exactly(self, store: Any, text: str) -> None:
        await say(store, text, role=text, metadata={text: [text]})
        await write(store, text, metadata={text: [text]})
        (message,), (document,) = await history(store), await written(store)
        assert (message.text, message.role, message.metadata) == (text, text, {text: [text]})
        assert (document.text, document.metadata) == (text, {text: [text]})

    async def test_the_first_message_makes_the_session(self, store: Any) -> None:
        assert await store.sessions.session(WORKSPACE, SESSION) is None
        await say(store, "first")
        await say(store, "second")
        first, second = await history(store)
        session = await store.sessions.session(WORKSPACE, SESSION)
        assert (session.id, session.user_id, session.metadata) == (SESSION, "", {})
        assert (session.created_at, session.updated_at) == (first.created_at, second.created_at)

    async def test_a_session_that_was_created_knows_its_user(self, store: Any) -> None:
        made = await store.sessions.create_session(WORKSPACE, "ada", {"plan": ["a"], "n": 1})
        assert await store.sessions.session(WORKSPACE, made.id) == made
        assert (made.user_id, made.metadata, made.created_at) == ("ada", {"plan": ["a"], "n": 1}, made.updated_at)
        await say(store, "hello", session_id=made.id)
        later = await store.sessions.session(WORKSPACE, made.id)
        assert (later.user_id, later.metadata) == ("ada", {"plan": ["a"], "n": 1})
        assert later.updated_at >= made.updated_at

    async def test_history_is_the_last_messages_oldest_first(self, store: Any) -> None:
        for number in range(7):
            await say(store, f"message {number}")
            await say(store, f"elsewhere {number}", session_id=ANOTHER_SESSION)
        assert await texts(store, limit=3) == ["message 4", "message 5", "message 6"]
        assert await texts(store, limit=7) == [f"message {number}" for number in range(7)]
        assert len(await texts(store, limit=10**30)) == 7
        assert await texts(store, session_id="no such session") == []
        assert await texts(store, session_id=LONE_SURROGATE) == []

    async def test_messages_that_come_at_once_have_one_order(self, store: Any, other: Any) -> None:
        saying = [say(where, f"m{number}") for number, where in enumerate([store, other] * 15)]
        ids = await asyncio.gather(*saying)
        here, there = await history(store), await history(other)
        assert here == there
        assert sorted(one.id for one in here) == sorted(ids)
        moments = [one.created_at for one in here]
        assert moments == sorted(moments)
        assert [one.id for one in await history(store, limit=5)] == [one.id for one in here[-5:]]

    async def test_equal_messages_and_equal_documents_are_each_kept(self, store: Any) -> None:
        assert await say(store, "yes") != await say(store, "yes")
        assert await write(store, "yes") != await write(store, "yes")
        assert len(await history(store)) == len(await written(store)) == 2

    async def test_a_deleted_message_leaves_the_history_until_it_is_restored(self, store: Any, other: Any) -> None:
        ids = [await say(store, text) for text in ("one", "two", "three")]
        await delete(store, ids[1])
        assert await texts(other) == ["one", "three"]
        assert await texts(other, limit=2) == ["one", "three"]
        await restore(store, ids[1])
        assert await texts(other) == ["one", "two", "three"]

    async def test_what_was_purged_is_gone(self, store: Any) -> None:
        message, document = await say(store, "secret"), await write(store, "secret", [1.0, 0.0])
        for one in (message, document):
            await delete(store, one)
        assert await purge_deleted(store) == 2
        assert await history(store) == []
        assert await written(store) == []
        assert await near(store, [1.0, 0.0]) == []
        assert await problems(store) == []

    async def test_a_message_that_was_replaced_was_said_all_the_same(self, store: Any) -> None:
        old = await say(store, "it is blue")
        await put(store, sample_memory("it is green", replaces=old))
        assert await texts(store) == ["it is blue"]
        assert await searchable(store) == ["it is green"]

    async def test_a_message_is_a_memory_with_its_session_and_role(self, store: Any) -> None:
        message_id = await say(store, "tea", role="assistant", tags=("t",), source="chat", author="Ada")
        memory = await store.get(WORKSPACE, message_id)
        (proposed,) = (await ask(store, "tea")).found
        (found,) = await store.chunks(WORKSPACE, [proposed.chunk])
        for one in (memory, found):
            assert (one.kind, one.conversation, one.role) == ("message", SESSION, "assistant")
            assert (one.tags, one.source, one.author) == (("t",), "chat", "Ada")

    async def test_a_document_is_a_memory_too(self, store: Any) -> None:
        document_id = await write(store, "about tea", [1.0, 0.0])
        memory = await store.get(WORKSPACE, document_id)
        assert (memory.kind, memory.text, memory.role) == ("document", "about tea", "")
        assert await searchable(store) == ["about tea"]

    async def test_filters_tell_messages_from_documents(self, store: Any) -> None:
        await say(store, "said")
        await say(store, "elsewhere", session_id=ANOTHER_SESSION)
        await write(store, "written")
        for wanted, expected in (
            (Filter(kinds=("message",)), ["said", "elsewhere"]),
            (Filter(kinds=("document",)), ["written"]),
            (Filter(conversations=(SESSION,)), ["said"]),
        ):
            assert await searchable(store, wanted=wanted) == expected

    async def test_workspaces_see_nothing_of_each_other(self, store: Any) -> None:
        await say(store, "mine")
        await write(store, "mine", [1.0, 0.0])
        assert await store.sessions.session("yours", SESSION) is None
        assert await store.sessions.history("yours", SESSION, 10) == []
        assert await near(store, [1.0, 0.0], workspace="yours") == []
        assert await written(store, workspace="yours") == []
        await say(store, "yours", workspace="yours")
        assert await texts(store) == ["mine"]
        hers = await store.sessions.create_session(WORKSPACE, "ada", {"plan": "secret"})
        await say(store, "yours", workspace="yours", session_id=hers.id)
        another = await store.sessions.session("yours", hers.id)
        assert (another.user_id, another.metadata) == ("", {})
        assert await store.sessions.session(WORKSPACE, hers.id) == hers

    @pytest.mark.parametrize("field", ["session_id", "role", "text", "metadata"])
    async def test_a_message_that_cannot_be_kept_is_refused_and_leaves_nothing(self, store: Any, field: str) -> None:
        value = {"deep": [LONE_SURROGATE]} if field == "metadata" else LONE_SURROGATE
        given: dict[str, Any] = {"text": "text"} | {field: value}
        with pytest.raises(InvalidInputError, match=field):
            await say(store, **given)
        assert (await store.stats(WORKSPACE)).memories == 0
        assert await store.sessions.session(WORKSPACE, SESSION) is None

    @pytest.mark.parametrize(("user_id", "metadata"), [(LONE_SURROGATE, {}), ("ada", {"n": float("nan")})])
    async def test_a_session_that_cannot_be_kept_is_refused(
        self, store: Any, user_id: str, metadata: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInputError):
            await store.sessions.create_session(WORKSPACE, user_id, metadata)

    async def test_an_own_vector_comes_back(self, store: Any) -> None:
        vector = np.random.default_rng(5).standard_normal(1536).astype(np.float32)
        await write(store, "with", vector)
        await write(store, "without")
        without, with_vector = await written(store)
        assert without.vector is None
        assert np.array_equal(np.asarray(with_vector.vector), vector)

    @pytest.mark.parametrize("vector", [[], [float("nan"), 1.0], [float("inf"), 1.0], [[1.0]], [1e31, 1.0]])
    async def test_a_vector_that_is_none_is_refused_and_leaves_nothing(self, store: Any, vector: list[Any]) -> None:
        with pytest.raises(InvalidInputError, match="vector"):
            await write(store, "text", vector)
        assert (await store.stats(WORKSPACE)).memories == 0

    async def test_the_nearest_come_in_the_order_of_their_cosines(self, store: Any) -> None:
        await write(store, "east", [2.0, 0.0])
        await write(store, "north", [0.0, 0.1])
        await write(store, "north-east", [3.0, 3.0])
        await write(store, "west", [-1.0, 0.0])
        await write(store, "nowhere", [0.0, 0.0])
        found = await store.sessions.nearest_documents(WORKSPACE, vector_of([5.0, 1.0]), 10, NO_FILTER)
        assert [one.text for one, _ in found] == ["east", "north-east", "north", "nowhere", "west"]
        expected = [5 / 26**0.5, 6 / 52**0.5, 1 / 26**0.5, 0.0, -5 / 26**0.5]
        assert [cosine for _, cosine in found] == pytest.approx(expected, abs=1e-6)
        assert await near(store, [5.0, 1.0], 2) == ["east", "north-east"]

    async def test_the_length_of_a_vector_does_not_matter(self, store: Any) -> None:
        for text, vector in (("tiny", [1e-40, 0.0]), ("huge", [1e30, 1e30]), ("plain", [0.0, 1.0])):
            await write(store, text, vector)
        assert await near(store, [1e-30, 2e-31]) == ["tiny", "huge", "plain"]
        assert await near(store, [1e29, 9e29]) == ["plain", "huge", "tiny"]

    async def test_of_equal_ones_the_newest_comes_first(self, store: Any) -> None:
        for text in ("old", "middle", "new"):
            await write(store, text, [0.1, 0.2, 0.3])
        assert await near(store, [0.3, 0.2, 0.1]) == ["new", "middle", "old"]
        assert await near(store, [0.0, 0.0, 0.0], 2) == ["new", "middle"]

    async def test_vectors_of_another_dimension_are_kept_apart(self, store: Any) -> None:
        await write(store, "flat", [1.0, 0.0])
        await write(store, "deep", [1.0, 0.0, 0.0])
        assert await near(store, [1.0, 0.0]) == ["flat"]
        assert await near(store, [1.0, 0.0, 0.0]) == ["deep"]
        assert await near(store, [1.0]) == []

    async def test_filters_apply_before_the_cut(self, store: Any) -> None:
        for number in range(40):
            await write(store, f"near {number}", [1.0, number / 1000], metadata={"category": "noise", "n": number})
        await write(store, "far", [-1.0, 0.1], metadata={"category": "signal", "n": 1}, tags=("t",))
        wanted = Filter(metadata={"category": ("signal",)})
        assert await near(store, [1.0, 0.0], 1, wanted) == ["far"]
        assert await near(store, [1.0, 0.0], 5, Filter(metadata={"n": (1,)})) == ["near 1", "far"]
        assert await near(store, [1.0, 0.0], 5, Filter(tags=("t",), metadata={"n": (1, 2)})) == ["far"]
        assert await near(store, [1.0, 0.0], 5, Filter(metadata={"n": (1.5,)})) == []
        assert await near(store, [1.0, 0.0], 5, Filter(date_to=datetime(2000, 1, 1, tzinfo=UTC))) == []
        assert await near(store, [1.0, 0.0], 1, Filter(date_from=datetime(2000, 1, 1, tzinfo=UTC))) == ["near 0"]

    async def test_the_nearest_are_found_among_many(self, store: Any) -> None:
        chance = np.random.default_rng(7)
        many = chance.standard_normal((300, 64)).astype(np.float32)
        await asyncio.gather(*(write(store, f"d{number}", vector) for number, vector in enumerate(many)))
        asked = chance.standard_normal(64).astype(np.float32)
        cosines = many @ asked / np.linalg.norm(many, axis=1)
        assert await near(store, asked, 20) == [f"d{number}" for number in np.argsort(-cosines)[:20]]

    @pytest.mark.parametrize("dimension", [2, 64, 100])
    @pytest.mark.parametrize("held", range(3))
    async def test_what_has_no_vector_changes_nothing_of_what_is_near(
        self, store: Any, held: int, dimension: int
    ) -> None:
        vector = [1.0] * dimension
        for number in range(held):
            await write(store, f"d{number}", vector)
        before = await near(store, vector)
        await write(store, "no vector")
        assert await near(store, vector) == before
        await write(store, "one more", vector)
        assert await near(store, vector) == ["one more", *before]

    async def test_another_store_finds_at_once_what_happened(self, store: Any, other: Any) -> None:
        ids = [await write(store, text, vector) for text, vector in (("a", [1.0, 0.0]), ("b", [1.0, 0.1]))]
        assert await near(other, [1.0, 0.0]) == ["a", "b"]
        await write(store, "c", [1.0, 0.2])
        assert await near(other, [1.0, 0.0]) == ["a", "b", "c"]
        await delete(store, ids[0])
        assert await near(other, [1.0, 0.0]) == ["b", "c"]
        await say(store, "in between")
        await restore(store, ids[0])
        await write(store, "d", [1.0, 0.3])
        assert await near(other, [1.0, 0.0]) == ["a", "b", "c", "d"]
        await put(store, sample_memory("instead", replaces=ids[1]))
        assert await near(other, [1.0, 0.0]) == ["a", "c", "d"]

    async def test_another_store_answers_every_question_from_now(self, store: Any, other: Any) -> None:
        """Earlier calls and their answers have no effect."""
        assert await other.sessions.session(WORKSPACE, SESSION) is None
        assert ([one.text for one in await written(other)], await texts(other)) == ([], [])
        await say(store, "first")
        assert await other.sessions.session(WORKSPACE, SESSION)
        await say(store, "second")
        now = await store.sessions.session(WORKSPACE, SESSION)
        assert await other.sessions.session(WORKSPACE, SESSION) == now
        assert await texts(other) == ["first", "second"]
        document = await write(store, "document")
        assert [one.text for one in await written(other)] == ["document"]
        assert [one.text for one in await other.sessions.documents(WORKSPACE, [document])] == ["document"]
        await delete(store, document)
        assert await written(other) == []
        assert await other.sessions.documents(WORKSPACE, [document]) == []

    async def test_documents_come_by_their_ids_in_that_order(self, store: Any) -> None:
        first, second = await write(store, "first", [1.0, 0.5], metadata={"n": 1}), await write(store, "second")
        gone, message = await write(store, "gone"), await say(store, "said")
        await delete(store, gone)
        asked = [second, gone, "nobody's", LONE_SURROGATE, message, first]
        found = await store.sessions.documents(WORKSPACE, asked)
        assert [(one.id, one.text) for one in found] == [(second, "second"), (first, "first")]
        assert (found[1].vector.tolist(), found[1].metadata) == ([1.0, 0.5], {"n": 1})
        assert await store.sessions.documents("yours", asked) == []
        assert await store.sessions.documents(WORKSPACE, []) == []

    async def test_documents_come_by_time_newest_first(self, store: Any) -> None:
        for number in range(4):
            await write(store, f"d{number}", metadata={"even": number % 2 == 0})
        await say(store, "no document")
        everything = await written(store)
        assert [one.text for one in everything] == ["d3", "d2", "d1", "d0"]
        first, last = everything[2].created_at, everything[1].created_at
        between = await store.sessions.documents_between(WORKSPACE, first, last, NO_FILTER)
        assert [one.text for one in between] == ["d2", "d1"]
        newest = await store.sessions.documents_between(WORKSPACE, first, last, NO_FILTER, 1)
        assert [one.text for one in newest] == ["d2"]
        even = await written(store, wanted=Filter(metadata={"even": (True,)}))
        assert [one.text for one in even] == ["d2", "d0"]
        only_even = Filter(metadata={"even": (True,)})
        (newest_even,) = await store.sessions.documents_between(
            WORKSPACE, everything[-1].created_at, everything[0].created_at, only_even, 1
        )
        assert newest_even.text == "d2"
        assert await written(store, wanted=Filter(metadata={"even": (True,), "odd": (1,)})) == []
        assert await written(store, wanted=Filter(date_to=datetime(2000, 1, 1, tzinfo=UTC))) == []
        assert len(await written(store, wanted=Filter(date_from=datetime(2000, 1, 1, tzinfo=UTC)))) == 4

    async def test_deleted_documents_are_not_there(self, store: Any) -> None:
        gone = await write(store, "gone")
        await write(store, "there")
        await delete(store, gone)
        assert [one.text for one in await written(store)] == ["there"]
        await restore(store, gone)
        assert [one.text for one in await written(store)] == ["there", "gone"]

    async def test_what_was_kept_is_there_after_closing(self, store: Any, tmp_path: Path) -> None:
        await say(store, "said")
        await write(store, "written", [1.0, 0.0])
        await store.close()
        again = await self.make_store(tmp_path)
        try:
            assert await texts(again) == ["said"]
            assert await near(again, [1.0, 0.0]) == ["written"]
            assert await problems(again) == []
        finally:
            await again.close()

    async def test_health_names_the_store_and_versions(self, store: Any) -> None:
        health = await store.sessions.health()
        assert isinstance(health["store"], str)
        assert any(key.endswith("_version") for key in health)


async def say(store: Any, text: str, **given: Any) -> str:
    """The id of a message that was added."""
    where = given.pop("workspace", WORKSPACE), given.pop("session_id", SESSION), given.pop("role", "user")
    added = await store.sessions.add_message(*where, _memory(text, given))
    return str(added.memory_id)


async def write(store: Any, text: str, vector: Any = None, **given: Any) -> str:
    """The id of a document that was added."""
    own = None if vector is None else vector_of(vector)
    added = await store.sessions.add_document(WORKSPACE, _memory(text, given), own)
    return str(added.memory_id)


def _memory(text: str, fields: dict[str, Any]) -> Any:
    return sample_memory(text, replace(sample_chunk(text), terms=tuple(text.split()[:100])), **({"key": ""} | fields))


def vector_of(numbers: Any) -> Vector:
    """Numbers as a vector."""
    return np.asarray(numbers, np.float32)


async def history(store: Any, limit: int = 100, session_id: str = SESSION) -> list[MessageRecord]:
    """The last messages of a session."""
    found: list[MessageRecord] = await store.sessions.history(WORKSPACE, session_id, limit)
    return found


async def texts(store: Any, limit: int = 100, session_id: str = SESSION) -> list[str]:
    """The texts of the last messages of a session."""
    return [one.text for one in await history(store, limit, session_id)]


async def near(
    store: Any, vector: Any, limit: int = 10, wanted: Filter = NO_FILTER, workspace: str = WORKSPACE
) -> list[str]:
    """The texts of the nearest documents."""
    found = await store.sessions.nearest_documents(workspace, vector_of(vector), limit, wanted)
    return [one.text for one, _ in found]


async def written(store: Any, wanted: Filter = NO_FILTER, workspace: str = WORKSPACE) -> list[DocumentRecord]:
    """All documents, the newest first."""
    first, last = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    found: list[DocumentRecord] = await store.sessions.documents_between(workspace, first, last, wanted)
    return found
