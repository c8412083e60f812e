"""Tests of MemoryManager on any store: subclass the suite and implement `make_store`."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum
from uuid import UUID, uuid4

import numpy as np
import pytest

from tests.unit.core.sessions.waiting import until
from zapomni_core import MemoryEngine, MemoryManager
from zapomni_core.errors import ConfigurationError
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.errors import DatabaseError

DIMENSION = 4
METADATA = {
    "text": "數 ü",
    "number": 2**60,
    "float": 0.1,
    "true": True,
    "null": None,
    "list": [1, {"deep": []}],
    "": "",
    "tags": 7,
    "source": ["not", "text"],
    "timestamp": "not a date",
}
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


class Speaker(str, Enum):  # noqa: UP042 - the members of a StrEnum are their values as text, these are not
    """Roles as many programs write them."""

    USER = "user"


class MemoryManagerSuite(StoreContract):
    """The behaviour of a MemoryManager on a store."""

    @pytest.fixture
    async def engine(self, store):
        engine = MemoryEngine(store=store, embedder=HashingEmbedder())
        yield engine
        await engine.close()

    @pytest.fixture
    def memory(self, engine):
        return MemoryManager(engine, embedding_dimension=DIMENSION)

    async def test_a_session_is_created_with_an_id_of_its_own(self, memory, engine):
        first, second = await memory.create_session("ada", {"plan": "free"}), await memory.create_session("ada")
        assert isinstance(first, UUID)
        assert first != second
        kept = await engine.sessions.session(engine.workspace, str(first))
        assert (kept.user_id, kept.metadata) == ("ada", {"plan": "free"})

    @pytest.mark.parametrize("user_id", ["", "  ", None, 7, "x" * 256, "\ud800"])
    async def test_a_session_needs_a_user(self, memory, user_id):
        with pytest.raises(ValueError, match="user_id"):
            await memory.create_session(user_id)

    async def test_messages_come_back_in_the_order_they_were_stored(self, memory):
        session = uuid4()
        ids = [await memory.store_message(session, "user", f"message {number}") for number in range(5)]
        history = await memory.get_conversation_history(session)
        assert [one.id for one in history] == ids
        assert [one.content for one in history] == [f"message {number}" for number in range(5)]
        assert {one.session_id for one in history} == {session}
        moments = [one.created_at for one in history]
        assert moments == sorted(moments)
        assert moments[0].utcoffset() == timedelta(0)

    async def test_history_is_cut_to_the_most_recent(self, memory):
        session = uuid4()
        for number in range(5):
            await memory.store_message(session, "user", f"message {number}")
        assert [one.content for one in await memory.get_conversation_history(session, limit=2)] == [
            "message 3",
            "message 4",
        ]

    async def test_an_unknown_session_has_an_empty_history(self, memory):
        assert await memory.get_conversation_history(uuid4()) == []
        assert await memory.get_conversation_history(await memory.create_session("ada")) == []

    async def test_messages_of_a_created_session_are_its_own(self, memory, engine):
        session = await memory.create_session("ada", {"a": 1})
        await memory.store_message(session, "system", "be kind")
        assert [one.role for one in await memory.get_conversation_history(session)] == ["system"]
        assert (await engine.sessions.session(engine.workspace, str(session))).user_id == "ada"

    @pytest.mark.parametrize("text", ["  indented\n\n", "\n\n", "a\0b", "👨‍👩‍👧 數據", "x" * 5000, "### "])
    async def test_contents_come_back_exactly(self, memory, text):
        session, content = uuid4(), f"{text}."
        await memory.store_message(session, "user", content)
        await memory.store_document(content)
        (message,), (document,) = (
            await memory.get_conversation_history(session),
            await memory.temporal_query(*ALWAYS),
        )
        assert (message.content, document.content) == (content, content)

    async def test_metadata_come_back_exactly_whatever_they_are(self, memory, engine):
        session = uuid4()
        await memory.store_message(session, "user", "hello", METADATA)
        await memory.store_document("hello", METADATA)
        created = await memory.create_session("ada", METADATA)
        (message,) = await memory.get_conversation_history(session)
        (document,) = await memory.temporal_query(*ALWAYS)
        kept = await engine.sessions.session(engine.workspace, str(created))
        assert repr(message.metadata_) == repr(document.metadata_) == repr(dict(kept.metadata)) == repr(METADATA)

    @pytest.mark.parametrize("metadata", [{"n": float("nan")}, {1: 2}, {"o": object()}, [1], {"s": "\ud800"}])
    async def test_metadata_must_be_plain_json(self, memory, metadata):
        for storing in (
            memory.create_session("ada", metadata),
            memory.store_message(uuid4(), "user", "text", metadata),
            memory.store_document("text", metadata),
        ):
            with pytest.raises(ValueError, match="metadata"):
                await storing

    async def test_equal_messages_are_two_messages(self, memory):
        session = uuid4()
        assert await memory.store_message(session, "user", "yes") != await memory.store_message(session, "user", "yes")
        assert len(await memory.get_conversation_history(session)) == 2

    @pytest.mark.parametrize("role", ["tool", "User", "", None, ["user"]])
    async def test_only_three_roles_are_known(self, memory, role):
        session = uuid4()
        with pytest.raises(ValueError, match="role must be one of: user, assistant, system"):
            await memory.store_message(session, role, "text")
        assert await memory.get_conversation_history(session) == []

    async def test_a_role_may_be_a_member_of_an_enumeration(self, memory, engine):
        session = uuid4()
        message_id = await memory.store_message(session, Speaker.USER, "text")
        assert [one.role for one in await memory.get_conversation_history(session)] == ["user"]
        assert (await engine.get_memory(str(message_id))).role == "user"

    @pytest.mark.parametrize("content", ["", " \n\t", None, 7, "\ud800", "x" * 10_000_001])
    async def test_content_must_be_text(self, memory, content):
        with pytest.raises(ValueError, match="content"):
            await memory.store_message(uuid4(), "user", content)
        with pytest.raises(ValueError, match="content"):
            await memory.store_document(content)

    @pytest.mark.parametrize("session_id", ["no uuid", 7, None, b"\0" * 16])
    async def test_a_session_id_is_a_uuid(self, memory, session_id):
        with pytest.raises(ValueError, match="session_id must be a UUID"):
            await memory.store_message(session_id, "user", "text")
        with pytest.raises(ValueError, match="session_id must be a UUID"):
            await memory.get_conversation_history(session_id)

    async def test_a_session_id_may_be_written_as_text(self, memory):
        session = uuid4()
        await memory.store_message(str(session).upper(), "user", "text")
        assert len(await memory.get_conversation_history(session)) == 1

    @pytest.mark.parametrize(
        ("limit", "rule"),
        [(limit, "greater than 0") for limit in (0, -1)]
        + [(limit, "a whole number greater than 0") for limit in (True, 1.5, "10", None)],
    )
    async def test_a_limit_is_a_number_above_zero(self, memory, limit, rule):
        with pytest.raises(ValueError, match=f"^limit must be {rule}$"):
            await memory.get_conversation_history(uuid4(), limit=limit)
        with pytest.raises(ValueError, match=f"^top_k must be {rule}$"):
            await memory.semantic_search([1.0] * DIMENSION, top_k=limit)

    @pytest.mark.parametrize("value", [None, 7, b"text", ["text"]])
    async def test_content_that_is_not_a_string_is_refused(self, memory, value):
        with pytest.raises(ValueError, match=r"^user_id must be text$"):
            await memory.create_session(value)
        with pytest.raises(ValueError, match=r"^content must be text$"):
            await memory.store_message(uuid4(), "user", value)
        with pytest.raises(ValueError, match=r"^content must be text$"):
            await memory.store_document(value)

    async def test_numpy_numbers_are_accepted(self, memory):
        session = uuid4()
        for text in ("one", "two"):
            await memory.store_message(session, "user", text)
            await memory.store_document(text, embedding=np.ones(DIMENSION, np.float16))
        assert len(await memory.get_conversation_history(session, limit=np.int64(1))) == 1
        assert len(await memory.semantic_search(np.ones(DIMENSION, np.int32), top_k=np.uint8(1))) == 1

    async def test_a_limit_has_no_maximum(self, memory):
        session, most = uuid4(), 2**70
        await memory.store_message(session, "user", "text")
        await memory.store_document("text", embedding=[1.0] * DIMENSION)
        assert len(await memory.get_conversation_history(session, limit=most)) == 1
        assert len(await memory.semantic_search([1.0] * DIMENSION, top_k=most)) == 1
        assert len(await memory.temporal_query(*ALWAYS, limit=most)) == 1

    async def test_documents_are_ordered_by_cosine_similarity(self, memory):
        for content, embedding in {
            "east": [2.0, 0.0, 0.0, 0.0],
            "north-east": [3.0, 3.0, 0.0, 0.0],
            "north": [0.0, 0.5, 0.0, 0.0],
            "west": [-1, 0, 0, 0],
        }.items():
            await memory.store_document(content, {"length": len(content)}, embedding)
        await memory.store_document("nowhere")
        found = await memory.semantic_search([5.0, 1.0, 0.0, 0.0])
        assert [one.content for one in found] == ["east", "north-east", "north", "west"]
        assert found[0].embedding == [2.0, 0.0, 0.0, 0.0]
        assert found[0].metadata_ == {"length": 4}
        assert [one.content for one in await memory.semantic_search([5.0, 1.0, 0.0, 0.0], top_k=2)] == [
            "east",
            "north-east",
        ]

    async def test_filters_limit_the_search_before_the_cut(self, memory):
        for number in range(30):
            await memory.store_document(f"near {number}", {"category": "noise"}, [1.0, 0.01 * number, 0.0, 0.0])
        await memory.store_document("far", {"category": "research", "tags": ["a", "b"]}, [-1.0, 0.0, 0.0, 0.5])
        for wanted in ({"category": "research"}, {"category": ["research", "none"]}, {"tags": ["b", "a"]}):
            found = await memory.semantic_search([1.0, 0.0, 0.0, 0.0], top_k=1, metadata_filters=wanted)
            assert [one.content for one in found] == ["far"], wanted
        assert await memory.semantic_search([1.0, 0, 0, 0], metadata_filters={"category": "Research"}) == []
        assert await memory.semantic_search([1.0, 0, 0, 0], metadata_filters={"tags": ["a", "c"]}) == []

    async def test_filters_find_objects_that_contain_what_is_asked(self, memory):
        oslo = {"place": {"city": "Oslo", "rooms": ["hall", 7]}}
        await memory.store_document("oslo", oslo, [1.0] * DIMENSION)
        await memory.store_document("bergen", {"place": {"city": "Bergen"}, "city": "Oslo"}, [1.0] * DIMENSION)
        for wanted, contents in (
            ({"place": {"city": "Oslo"}}, ["oslo"]),
            ({"place": {"city": ["Oslo", "Bergen"]}}, ["bergen", "oslo"]),
            ({"place": {"city": "Oslo", "rooms": 7}}, ["oslo"]),
            ({"place": {"city": "Bergen", "rooms": 7}}, []),
        ):
            near = await memory.semantic_search([1.0] * DIMENSION, metadata_filters=wanted)
            assert sorted(one.content for one in near) == contents, wanted
            dated = await memory.temporal_query(*ALWAYS, metadata_filters=wanted)
            assert sorted(one.content for one in dated) == contents, wanted

    @pytest.mark.parametrize(
        "wanted",
        [
            {"a": {}},
            {"a": []},
            {"a": [[1]]},
            {1: 2},
            ["a"],
            {"tags": [1]},
            {"tags": [None]},
            {str(number): number for number in range(101)},
            {"tags": list(map(str, range(101)))},
        ],
        ids=range(9),
    )
    async def test_filters_are_plain_values(self, memory, wanted):
        with pytest.raises(ValueError, match="metadata_filters"):
            await memory.semantic_search([1.0] * DIMENSION, metadata_filters=wanted)
        with pytest.raises(ValueError, match="metadata_filters"):
            await memory.temporal_query(*ALWAYS, metadata_filters=wanted)

    @pytest.mark.parametrize(
        "embedding",
        [
            [],
            [1.0] * 3,
            [1.0] * 5,
            [[1.0] * 4],
            "1234",
            [1.0, 2.0, 3.0, float("nan")],
            [1e31, 0, 0, 0],
            [None] * 4,
            ["1", "2", "3", "4"],
            [1, 2, 3, "4"],
            [True] * 4,
            [1, 2, 3, None],
            [10**400, 0, 0, 0],
            [1j, 0, 0, 0],
        ],
    )
    async def test_an_embedding_has_the_dimension_and_holds_numbers(self, memory, embedding):
        with pytest.raises(ValueError, match=r"^embedding must"):
            await memory.store_document("text", embedding=embedding)
        with pytest.raises(ValueError, match="query_embedding must"):
            await memory.semantic_search(embedding)
        assert await memory.temporal_query(*ALWAYS) == []

    async def test_the_maximum_number_of_filters_is_applied(self, memory):
        wanted = {str(number): number for number in range(100)}
        await memory.store_document("all of them", wanted, [1.0] * DIMENSION)
        await memory.store_document("all but one", {**wanted, "99": 0}, [1.0] * DIMENSION)
        for found in (
            await memory.semantic_search([1.0] * DIMENSION, metadata_filters=wanted),
            await memory.temporal_query(*ALWAYS, metadata_filters=wanted),
        ):
            assert [one.content for one in found] == ["all of them"]

    async def test_a_search_without_matches_returns_an_empty_list(self, memory):
        assert await memory.semantic_search([1.0] * DIMENSION) == []
        assert await memory.temporal_query(*ALWAYS) == []

    async def test_documents_in_a_period_are_listed_newest_first_with_both_ends_included(self, memory):
        for number in range(4):
            await memory.store_document(f"document {number}", {"even": number % 2 == 0})
        everything = await memory.temporal_query(*ALWAYS)
        assert [one.content for one in everything] == [f"document {number}" for number in (3, 2, 1, 0)]
        start, end = everything[2].created_at, everything[1].created_at
        found = await memory.temporal_query(start, end.astimezone(timezone(timedelta(hours=9))))
        assert [one.content for one in found] == ["document 2", "document 1"]
        naive = await memory.temporal_query(start.replace(tzinfo=None), end.replace(tzinfo=None), {"even": True})
        assert [one.content for one in naive] == ["document 2"]
        assert [one.content for one in await memory.temporal_query(*ALWAYS, limit=2)] == ["document 3", "document 2"]
        with pytest.raises(ValueError, match="limit must be greater than 0"):
            await memory.temporal_query(*ALWAYS, limit=0)

    async def test_a_time_zone_without_an_offset_counts_as_utc(self, memory):
        class Nowhere(tzinfo):
            def utcoffset(self, moment):
                return None

        await memory.store_document("text")
        moments = (one.replace(tzinfo=Nowhere()) for one in ALWAYS)
        assert len(await memory.temporal_query(*moments)) == 1
        assert len(await memory.temporal_query(datetime(1970, 1, 1), ALWAYS[1].replace(tzinfo=Nowhere()))) == 1  # noqa: DTZ001 - on purpose

    async def test_documents_with_vectors_of_another_dimension_come_by_time_too(self, memory, engine):
        await memory.store_document("four", None, [1.0, 0.0, 0.0, 0.0])
        await MemoryManager(engine, embedding_dimension=2).store_document("two", None, [0.5, 0.25])
        found = await memory.temporal_query(*ALWAYS)
        assert [(one.content, one.embedding) for one in found] == [
            ("two", [0.5, 0.25]),
            ("four", [1.0, 0.0, 0.0, 0.0]),
        ]
        assert [one.content for one in await memory.semantic_search([1.0] * DIMENSION)] == ["four"]

    async def test_dates_must_be_in_order(self, memory):
        with pytest.raises(ValueError, match="end_date must not be before start_date"):
            await memory.temporal_query(ALWAYS[1], ALWAYS[0])
        for wrong in (("2026-01-01", ALWAYS[1]), (ALWAYS[0], None), (ALWAYS[0].date(), ALWAYS[1])):
            with pytest.raises(ValueError, match="_date must be a datetime"):
                await memory.temporal_query(*wrong)

    async def test_a_document_was_updated_when_it_was_created(self, memory):
        before = datetime.now(UTC) - timedelta(minutes=10)
        document_id = await memory.store_document("text")
        (document,) = await memory.temporal_query(*ALWAYS)
        assert (document.id, document.embedding) == (document_id, None)
        assert before < document.created_at == document.updated_at < datetime.now(UTC) + timedelta(minutes=10)

    async def test_messages_are_found_by_their_words_at_once(self, memory, engine):
        session = uuid4()
        said = await memory.store_message(session, "assistant", "The heron nests near the pond.", {"source": "web_ui"})
        (hit, *_) = (await engine.search_memory("heron")).hits
        assert (hit.memory_id, hit.kind, hit.role) == (str(said), "message", "assistant")
        assert (hit.conversation, hit.source) == (str(session), "web_ui")
        assert 0 < hit.similarity_score <= 1

    async def test_kinds_and_sessions_narrow_the_search(self, memory, engine):
        here, there = uuid4(), uuid4()
        for session in (here, there):
            await memory.store_message(session, "user", f"heron {session}")
        await memory.store_document("heron of a document", {"tags": ["bird"]})
        await engine.add_memory("heron of a memory")

        async def found(**filters):
            return [hit.text for hit in (await engine.search_memory("heron", filters=filters)).hits]

        assert await found(kind="document") == ["heron of a document"]
        assert await found(conversation=str(here)) == [f"heron {here}"]
        assert await found(tags=["bird"]) == ["heron of a document"]
        assert len(await found(kind=["message", "document"])) == 3
        assert len(await found()) == 4

    async def test_the_vectors_of_messages_are_made_later(self, memory, engine):
        await memory.store_message(uuid4(), "user", "The heron nests near the pond.")
        await memory.store_document("Carpets are woven by hand.")
        identity = await engine.memories.embedder(engine.workspace)

        async def is_embedded():
            return (await engine.memories.vectors.pending(engine.workspace, identity, 1))[1] == 0

        await until(is_embedded)
        (hit,) = (await engine.search_memory("a pondlike heronry", limit=1)).hits
        assert (hit.text, hit.why) == ("The heron nests near the pond.", ("meaning",))

    async def test_a_deleted_message_leaves_history_and_search(self, memory, engine):
        session = uuid4()
        ids = [await memory.store_message(session, "user", text) for text in ("one heron", "two herons")]
        await engine.delete_memory(str(ids[0]))
        assert [one.id for one in await memory.get_conversation_history(session)] == ids[1:]
        assert [hit.memory_id for hit in (await engine.search_memory("heron")).hits] == [str(ids[1])]
        await engine.restore_memory(str(ids[0]))
        assert [one.id for one in await memory.get_conversation_history(session)] == ids

    async def test_workspaces_have_conversations_of_their_own(self, memory, engine):
        session = uuid4()
        await memory.store_message(session, "user", "mine")
        other = MemoryManager(engine.in_workspace("other"), embedding_dimension=DIMENSION)
        assert await other.get_conversation_history(session) == []
        await other.store_message(session, "user", "theirs")
        assert [one.content for one in await memory.get_conversation_history(session)] == ["mine"]

    async def test_health_says_what_it_runs_on(self, memory):
        health = await memory.health_check()
        assert health["status"] == "healthy"
        assert isinstance(health["store"], str)
        assert [key for key in health if key.endswith("_version")]

    async def test_closing_leaves_an_engine_that_was_given(self, memory, engine):
        await memory.close()
        await memory.close()
        assert (await engine.get_stats()).total_memories == 0

    async def test_a_store_that_fails_is_a_database_error(self, memory, engine):
        await engine.close()
        for calling in (
            memory.create_session("ada"),
            memory.store_message(uuid4(), "user", "text"),
            memory.get_conversation_history(uuid4()),
            memory.store_document("text"),
            memory.semantic_search([1.0] * DIMENSION),
            memory.temporal_query(*ALWAYS),
            memory.health_check(),
        ):
            with pytest.raises(DatabaseError):
                await calling

    async def test_a_store_without_sessions_is_refused_by_its_name(self, store):
        class OnlyMemories:
            """The same store, and nothing but its memories."""

            sessions = None

            def __getattr__(self, name):
                return getattr(store, name)

        memory = MemoryManager(MemoryEngine(store=OnlyMemories(), embedder=HashingEmbedder()))
        with pytest.raises(ConfigurationError, match="onlymemories"):
            await memory.health_check()
