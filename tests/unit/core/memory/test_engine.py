"""The engine on a real store: connecting, adding, searching, and progress."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zapomni_core.dispatch.call import Call, CallContext, call_context
from zapomni_core.errors import ConfigurationError, EmbedderMissingError, ProcessingError, describe_failure
from zapomni_core.memory.add import with_progress
from zapomni_core.memory.content import LONGEST_QUERY, KnownMetadata, indexed_text
from zapomni_core.memory.engine import MOST_HITS, MemoryEngine
from zapomni_core.providers import Provider, Providers
from zapomni_core.sessions import MemoryManager
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.errors import DatabaseError, InvalidInputError, MemoryNotFoundError
from zapomni_db.records import NewFact
from zapomni_db.sqlite import SQLiteStore

HOSTILE = {
    "quotes": "It's \"quoted\" `twice` ''; \\' \\\"",
    "sql": "Robert'); DROP TABLE memory; -- SELECT * FROM memory WHERE 1=1",
    "fts5": 'NEAR("one two", 5) AND col:three* OR ^four NOT (five + "six',
    "nul": "before\0after \0 the end\0",
    "rtl": "\u202eright to left\u202c \u200fשלום\u200f \u2066isolated\u2069",
    "emoji": "👨‍👩‍👧‍👦 🇺🇦 ❤️‍🔥 1️⃣ likes 🍕",
    "cjk": "数据库每天晚上备份一次。データベースは毎晩バックアップされる。데이터베이스",
    "cyrillic": "Ключ от дачи лежит под третьим горшком, Ёлка — в сарае.",
    "combining": "e\u0301 a\u0308 \u0301 Z̸͇̿a̶̛l̷̰g̵̱o̴ ﬁ ﷺ",
    "noncharacters": "\ufeffwith marks \ufffe \uffff \U0010ffff",
    "controls": "\x01\x02bell\x07 escape\x1b[31m delete\x7f",
    "percent": "%s %d {0} {{x}} ${HOME} $(id) <script>alert(1)</script>",
    "one long word": "x" * 20_000,
}
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
ANY_VALUE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT
READ_BY_US = {"tags", "source", "author", "conversation", "timestamp", "language", "kind", "date_from", "date_to"}
OTHER_KEY = ANY_TEXT.filter(lambda key: key not in READ_BY_US)
PARTICULARS = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(ANY_TEXT.filter(bool), max_size=3),
        "source": ANY_TEXT,
        "author": ANY_TEXT,
        "conversation": ANY_TEXT,
        "timestamp": st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
        "language": ANY_TEXT | st.sampled_from(["python", "markdown", "text"]),
    },
)
ANY_METADATA = st.builds(
    lambda read, other: {**other, **read},
    PARTICULARS,
    st.dictionaries(OTHER_KEY, ANY_VALUE | st.lists(ANY_VALUE, max_size=3), max_size=3),
)


FEW_VALUES = st.sampled_from(["a", "b", "1", 1, 1.0, 2.5, True, False, None])
FEW_TEXTS = st.sampled_from(["a", "b"])
DAYS = st.sampled_from(["2026-05-08", "2026-05-09", "2026-05-10"])
FEW_THINGS = st.fixed_dictionaries(
    {"timestamp": DAYS},
    optional={
        "tags": st.lists(FEW_TEXTS, unique=True),
        "source": FEW_TEXTS,
        "author": FEW_TEXTS,
        "conversation": FEW_TEXTS,
        "mine": FEW_VALUES,
        "yours": FEW_VALUES,
    },
)
FEW_FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(FEW_TEXTS, min_size=1, unique=True),
        "source": FEW_TEXTS | st.lists(FEW_TEXTS, min_size=1),
        "author": FEW_TEXTS,
        "conversation": FEW_TEXTS,
        "date_from": DAYS,
        "mine": FEW_VALUES | st.lists(FEW_VALUES, min_size=1),
        "yours": FEW_VALUES,
    },
)


def meets(metadata, filters):
    """Whether a memory is asked for, by the plainest reading of the rules; equal values are of one type, but 1 is 1.0."""
    for key, asked in filters.items():
        values = asked if isinstance(asked, list) else [asked]
        if key == "tags":
            is_met = set(values) <= set(metadata.get("tags", []))
        elif key == "date_from":
            is_met = metadata["timestamp"] >= asked
        else:
            is_met = key in metadata and any(
                value == metadata[key] and isinstance(value, bool) == isinstance(metadata[key], bool)
                for value in values
            )
        if not is_met:
            return False
    return True


@pytest.fixture
async def engine(tmp_path):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder())
    yield engine
    await engine.close()


@asynccontextmanager
async def being_called(after_each=lambda reports: None, client=""):
    """Act as a tool call and collect its progress reports."""
    reports = []

    async def tell(done, total, message):
        reports.append((done, total, message))
        after_each(reports)

    call = Call(id="1", name="add_memory", arguments={}, client=client)
    token = call_context.set(CallContext(call=call, on_progress=tell))
    yield reports
    call_context.reset(token)


class TestConnecting:
    def test_it_is_built_without_a_file_a_thread_or_a_model(self, tmp_path):
        threads = set(threading.enumerate())
        MemoryEngine(Settings(store=f"sqlite://{tmp_path}/memory.db"))
        assert list(tmp_path.iterdir()) == []
        assert set(threading.enumerate()) <= threads

    async def test_initializing_and_closing_twice_is_doing_it_once(self, engine):
        await engine.initialize()
        await engine.initialize()
        await engine.add_memory("The bridge opens at noon.")
        await engine.close()
        await engine.close()

    async def test_closing_an_unused_engine_does_nothing(self, tmp_path):
        await MemoryEngine(Settings(store=f"sqlite://{tmp_path}/memory.db")).close()
        assert list(tmp_path.iterdir()) == []

    async def test_using_a_closed_engine_raises(self, engine):
        await engine.close()
        with pytest.raises(DatabaseError, match="is closed"):
            await engine.get_stats()

    async def test_concurrent_first_calls_choose_the_embedder_once(self, tmp_path):
        made = []
        hashing = Provider(kind="embedder", name="hashing", factory=lambda _: made.append(1) or HashingEmbedder())
        engine = MemoryEngine(
            Settings(embedder="hashing"), providers=Providers([hashing]), store=SQLiteStore(tmp_path / "memory.db")
        )
        await asyncio.gather(*(engine.add_memory(f"Fact {number}.") for number in range(5)))
        await engine.close()
        assert made == [1]

    async def test_plugins_get_vectors_of_the_stores_embedder(self, engine):
        first, second = await engine.embed(["one", "two"])
        assert len(first) == len(second) == 256


def test_event_loops_of_several_threads_may_share_an_engine(tmp_path):
    offered = [Provider(kind="embedder", name="default", factory=lambda _: HashingEmbedder(64, name="default"))]
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), providers=Providers(offered))
    begin = threading.Barrier(4)

    async def add(thread):
        for number in range(5):
            await engine.add_memory(f"{number} of {thread}")

    def work(thread):
        begin.wait()
        asyncio.run(add(thread))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert asyncio.run(engine.get_stats()).total_memories == 20
    asyncio.run(engine.close())


class TestMissingEmbedder:
    """The store's vectors were made by a plugin's embedder, and the plugin is gone."""

    WAY_OUT = (
        "the store's vectors were made by embedder 'hashing', which no enabled plugin offers; install or enable the plugin "
        "that brings it, or make new vectors by another: zapomni reindex --embedder default"
    )

    @pytest.fixture
    async def orphan(self, tmp_path, engine):
        await engine.add_memory("The piano is in the cellar")
        offered = [Provider(kind="embedder", name="default", factory=lambda _: HashingEmbedder(64, name="default"))]
        orphan = MemoryEngine(providers=Providers(offered), store=SQLiteStore(tmp_path / "memory.db"))
        yield orphan
        await orphan.close()

    async def test_search_uses_words_and_reports_the_reason(self, orphan):
        result = await orphan.search_memory("piano")
        assert [hit.text for hit in result.hits] == ["The piano is in the cellar"]
        assert result.degraded == f"Only words were searched, not meaning: {self.WAY_OUT}."

    async def test_a_memory_is_added_without_vectors_and_the_answer_names_the_fix(self, orphan):
        added = await orphan.add_memory("The ladder is in the shed")
        assert (added.outcome, added.not_embedded) == ("stored", self.WAY_OUT)
        assert (await orphan.search_memory("ladder")).hits[0].memory_id == added.memory_id
        await orphan.reindex("default")
        assert (await orphan.search_memory("ladder")).degraded is None

    async def test_other_calls_fail_and_name_the_fix(self, orphan):
        with pytest.raises(EmbedderMissingError) as caught:
            await orphan.embed(["text"])
        assert describe_failure(caught.value, "generic").message == str(caught.value) == self.WAY_OUT

    async def test_reindexing_with_the_same_embedder_names_the_fix(self, orphan):
        with pytest.raises(EmbedderMissingError, match=r"reindex --embedder default$"):
            await orphan.reindex()

    async def test_reindexing_with_another_embedder_repairs_it(self, orphan):
        assert await orphan.embedder_problem() == self.WAY_OUT
        assert await orphan.reindex("default") == 1
        assert await orphan.embedder_problem() is None
        assert (await orphan.search_memory("piano")).degraded is None
        assert (await orphan.add_memory("The ladder is in the shed")).outcome == "stored"

    async def test_new_vectors_by_another_process_are_noticed_by_the_next_call(self, tmp_path, orphan):
        assert (await orphan.add_memory("The saw is in the shed")).not_embedded
        embedder = HashingEmbedder(64, name="default")
        other = MemoryEngine(
            providers=Providers([Provider(kind="embedder", name="default", factory=lambda _: embedder)]),
            store=SQLiteStore(tmp_path / "memory.db"),
        )
        await other.reindex("default")
        await other.close()
        assert (await orphan.add_memory("The ladder is in the shed")).not_embedded == ""

    async def test_an_embedder_of_the_settings_is_not_replaced(self, tmp_path, engine):
        await engine.add_memory("The piano is in the cellar")
        named = MemoryEngine(Settings(embedder="hashing"), store=SQLiteStore(tmp_path / "memory.db"))
        with pytest.raises(ConfigurationError, match=r"^no plugin offers the embedder 'hashing'"):
            await named.search_memory("piano")
        await named.close()


class TestWorkspaces:
    def test_an_engine_uses_the_workspace_of_its_settings(self):
        assert MemoryEngine().workspace == "default"
        assert MemoryEngine(Settings(workspace="work")).workspace == "work"

    async def test_two_workspaces_share_the_store_but_no_memories(self, engine):
        work = engine.in_workspace("work")
        added = await engine.add_memory("The bridge opens at noon.")
        assert (engine.workspace, work.workspace) == ("default", "work")
        assert work.memories is engine.memories
        with pytest.raises(MemoryNotFoundError, match=f"{added.memory_id}.*'work'"):
            await work.get_memory(added.memory_id)

    @pytest.mark.parametrize("name", ["", " ", "line\nbreak"])
    def test_a_workspace_needs_a_name(self, engine, name):
        with pytest.raises(ValueError, match="workspace"):
            engine.in_workspace(name)


class TestLimits:
    @pytest.mark.parametrize("query", ["", "  ", "\n"])
    async def test_a_blank_query_is_refused(self, engine, query):
        with pytest.raises(InvalidInputError, match=r"^query cannot be empty or whitespace-only$"):
            await engine.search_memory(query)

    async def test_the_longest_question_is_taken_and_a_longer_one_is_not(self, engine):
        await engine.search_memory("x" * LONGEST_QUERY)
        with pytest.raises(InvalidInputError, match=r"^query exceeds maximum length \(1,000 characters\)$"):
            await engine.search_memory("x" * (LONGEST_QUERY + 1))

    @pytest.mark.parametrize(
        ("query", "filters", "field"),
        [("half \ud800", {}, "query"), ("whole", {"source": "\udcff"}, r"filters\.source")],
        ids=["query", "filter"],
    )
    async def test_a_lone_surrogate_in_a_search_is_refused(self, engine, query, filters, field):
        await engine.add_memory("half of the whole", {"source": "here"})
        with pytest.raises(InvalidInputError, match=f"^{field} must not contain lone surrogates"):
            await engine.search_memory(query, filters=filters)

    @pytest.mark.parametrize("limit", [0, -1, MOST_HITS + 1])
    async def test_a_search_limit_out_of_range_is_refused(self, engine, limit):
        with pytest.raises(InvalidInputError, match=r"^limit .*\b1\b.*\b100\b"):
            await engine.search_memory("bridge", limit)

    @pytest.mark.parametrize(
        ("text", "metadata", "problem"),
        [
            (" ", {}, "text cannot be empty"),
            ("half \ud800", {}, "text must not contain lone surrogates"),
            ("fine", {"a": "\udc00"}, "metadata must not contain lone surrogates"),
            ("fine", {1: 2}, "metadata must have texts as keys"),
            ("fine", ["a"], "metadata must be an object"),
            ("fine", {"tags": "a"}, "metadata.tags must be"),
            ("fine", {"timestamp": "noon"}, "metadata.timestamp must be"),
        ],
    )
    async def test_a_text_that_cannot_be_stored_is_refused_and_leaves_no_file(self, tmp_path, text, metadata, problem):
        engine = MemoryEngine(store=SQLiteStore(tmp_path / "data" / "memory.db"), embedder=HashingEmbedder())
        with pytest.raises(InvalidInputError, match=f"^{problem}"):
            await engine.add_memory(text, metadata)
        assert list(tmp_path.iterdir()) == []


class TestListing:
    async def test_pages_show_every_memory_once_newest_first(self, engine):
        ids = [(await engine.add_memory(f"Fact {number}.")).memory_id for number in range(5)]
        seen, after = [], ""
        while not seen or after:
            page = await engine.list_memories(after=after, limit=2)
            seen += [memory.id for memory in page.memories]
            after = page.after
        assert seen == ids[::-1]

    async def test_it_can_be_narrowed_by_filters_and_by_state(self, engine):
        kept = (await engine.add_memory("Bees fly.", {"tags": ["bees"]})).memory_id
        gone = (await engine.add_memory("Bees sleep.", {"tags": ["bees"]})).memory_id
        await engine.add_memory("Rugs are woven.")
        await engine.delete_memory(gone)
        live = await engine.list_memories({"tags": ["bees"]})
        every = await engine.list_memories({"tags": ["bees"]}, state="all", order="inserted")
        assert [memory.id for memory in live.memories] == [kept]
        assert [memory.id for memory in every.memories] == [kept, gone]

    @pytest.mark.parametrize("limit", [0, 101])
    async def test_a_limit_out_of_range_is_refused(self, engine, limit):
        with pytest.raises(InvalidInputError, match=r"^limit must be"):
            await engine.list_memories(limit=limit)


class TestChangingMetadata:
    async def test_it_changes_in_place_and_is_searched_at_once(self, engine):
        memory_id = (await engine.add_memory("Bees fly.", {"tags": ["a", "b"], "house": "lake", "n": 1})).memory_id
        memory = await engine.update_metadata(memory_id, {"n": 2}, remove=["house"], add_tags=["c"], remove_tags=["a"])
        assert (memory.id, memory.metadata, memory.tags) == (memory_id, {"tags": ["b", "c"], "n": 2}, ("b", "c"))
        found = await engine.search_memory("bees", filters={"tags": ["c"], "n": 2})
        assert [hit.memory_id for hit in found.hits] == [memory_id]
        assert (await engine.search_memory("bees", filters={"tags": ["a"]})).hits == ()

    @pytest.mark.parametrize(
        "change", [{}, {"changes": {"n": 1}}, {"remove": ["nothing"]}, {"add_tags": ["a"]}, {"remove_tags": ["x"]}]
    )
    async def test_an_update_without_a_change_leaves_no_event(self, engine, change):
        memory_id = (await engine.add_memory("Bees fly.", {"tags": ["a"], "n": 1})).memory_id
        await engine.update_metadata(memory_id, **change)
        assert [event.what for event in await engine.history(memory_id)] == ["added"]

    async def test_one_and_true_are_different_values(self, engine):
        memory_id = (await engine.add_memory("Bees fly.", {"n": 1})).memory_id
        assert (await engine.update_metadata(memory_id, {"n": True})).metadata["n"] is True

    @pytest.mark.parametrize("key", ["author", "timestamp", "conversation", "language"])
    async def test_metadata_of_the_search_index_cannot_be_updated(self, engine, key):
        memory_id = (await engine.add_memory("Bees fly.")).memory_id
        for change in ({"changes": {key: "x"}}, {"remove": [key]}):
            with pytest.raises(InvalidInputError, match=rf"^metadata\.{key} .*replaces"):
                await engine.update_metadata(memory_id, **change)

    async def test_documents_whose_metadata_is_read_leniently_can_be_changed(self, engine):
        document = str(await MemoryManager(engine).store_document("Bees fly.", {"tags": "a", "timestamp": "at noon"}))
        memory = await engine.update_metadata(document, {"n": 1}, add_tags=["b"])
        assert memory.metadata == {"tags": ["a", "b"], "timestamp": "at noon", "n": 1}


class TestHistory:
    async def test_it_names_the_client_of_a_call_else_the_program(self, engine):
        engine.components.program = "nightly backup"
        async with being_called(client="codex"):
            memory_id = (await engine.add_memory("Bees fly.")).memory_id
        await engine.update_metadata(memory_id, {"n": 1})
        await engine.delete_memory(memory_id)
        assert [(event.what, event.by) for event in await engine.history(memory_id)] == [
            ("added", "codex"),
            ("changed", "nightly backup"),
            ("deleted", "nightly backup"),
        ]


class TestHiding:
    @pytest.mark.parametrize("method", ["get_memory", "delete_memory", "restore_memory", "update_metadata", "history"])
    @pytest.mark.parametrize("memory_id", ["nobody", "", "' OR 1=1 --", "\ud800", "\0", "x" * 10_000])
    async def test_an_unknown_memory_is_reported_with_a_short_message(self, engine, method, memory_id):
        with pytest.raises(MemoryNotFoundError, match="memory") as error:
            await getattr(engine, method)(memory_id)
        assert len(str(error.value)) < 200

    async def test_deleting_twice_and_restoring_twice_are_reported(self, engine):
        memory_id = (await engine.add_memory("The bridge opens at noon.")).memory_id
        assert (await engine.delete_memory(memory_id)).deleted_at is not None
        with pytest.raises(MemoryNotFoundError, match="is deleted already, and can be restored"):
            await engine.delete_memory(memory_id)
        assert (await engine.restore_memory(memory_id)).deleted_at is None
        with pytest.raises(MemoryNotFoundError, match="is not deleted: there is nothing to restore"):
            await engine.restore_memory(memory_id)

    async def test_purging_takes_all_that_is_deleted_or_what_was_deleted_long_enough_ago(self, engine):
        ids = [(await engine.add_memory(f"Fact {number}.")).memory_id for number in range(3)]
        await engine.delete_memory(ids[0])
        await engine.delete_memory(ids[1])
        assert await engine.purge(days=1) == 0
        assert await engine.list_deleted(days=1) == []
        assert await engine.purge(memory_ids=[ids[0]]) == 1
        assert await engine.list_deleted() == [ids[1]]
        assert await engine.purge() == 1
        assert (await engine.get_memory(ids[2])).text == "Fact 2."
        with pytest.raises(MemoryNotFoundError):
            await engine.get_memory(ids[0])

    async def test_a_server_whose_clocks_jump_ahead_keeps_what_is_deleted(self, engine, monkeypatch):
        memory_id = (await engine.add_memory("Fact.")).memory_id
        await engine.delete_memory(memory_id)
        engine.serve_jobs()
        await engine.get_stats()
        loop, days_later = asyncio.get_running_loop(), time.time() + 60 * 24 * 3600
        hours_later = loop.time() + 2 * 3600
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda: days_later)
            patch.setattr(loop, "time", lambda: hours_later)
            for _ in range(20):  # calls during which a server would do what is due
                await engine.get_stats()
        assert (await engine.restore_memory(memory_id)).text == "Fact."

    async def test_memories_deleted_while_the_clock_was_ahead_can_be_purged(self, engine, monkeypatch):
        memory_id = (await engine.add_memory("Fact.")).memory_id
        with monkeypatch.context() as patch:
            patch.setattr("time.time_ns", lambda: (2**31) * 10**9)
            await engine.delete_memory(memory_id)
        assert await engine.purge() == 1


class TestUnchanged:
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    async def test_hostile_text_is_kept_and_found_unchanged(self, engine, text):
        for number in range(5):
            await engine.add_memory(f"Something else, number {number}.")
        metadata = {"source": text, "author": text, "tags": [text], text: [text, {text: text}]}
        added = await engine.add_memory(text, metadata)
        kept = await engine.get_memory(added.memory_id)
        assert (kept.text, dict(kept.metadata)) == (text, metadata)
        assert (kept.source, kept.author, kept.tags) == (text, text, (text,))
        found = await engine.search_memory(text[:LONGEST_QUERY])
        assert found.hits[0].memory_id == added.memory_id
        assert found.hits[0].text in text
        for filters in ({"source": text}, {"tags": [text]}, {"author": [text]}):
            narrowed = await engine.search_memory("anything at all", filters=filters)
            assert [hit.memory_id for hit in narrowed.hits] == [added.memory_id]
        assert await engine.memories.check() == []

    async def test_deep_and_wide_metadata_is_kept_unchanged(self, engine):
        deep = {}
        for _ in range(99):
            deep = {"in": deep}
        wide = {f"key {number}": number for number in range(10_000)}
        for metadata in (deep, wide):
            added = await engine.add_memory("With metadata.", metadata)
            assert dict((await engine.get_memory(added.memory_id)).metadata) == metadata
        found = await engine.search_memory("metadata", filters={"key 9999": 9999})
        assert [hit.memory_id for hit in found.hits] == [added.memory_id]

    @settings(max_examples=60)
    @given(text=ANY_TEXT, metadata=ANY_METADATA)
    async def test_every_accepted_text_comes_back_unchanged(self, engine, text, metadata):
        if not text.strip():
            with pytest.raises(InvalidInputError):
                await engine.add_memory(text, metadata)
            return
        added = await engine.add_memory(text, metadata)
        kept = await engine.get_memory(added.memory_id)
        assert kept.text.strip() == text.strip()
        assert kept.text in text
        assert dict(kept.metadata) == metadata
        assert kept.tags == tuple(dict.fromkeys(metadata.get("tags", [])))
        again = await engine.add_memory(text, metadata)
        assert (again.memory_id, again.outcome) == (added.memory_id, "existing")

    @settings(max_examples=40)
    @given(kept=st.lists(FEW_THINGS, min_size=1, max_size=5), filters=FEW_FILTERS)
    async def test_a_search_finds_among_those_that_meet_the_filters_and_among_no_others(self, engine, kept, filters):
        engine = engine.in_workspace(uuid4().hex)
        wanted = set()
        for number, metadata in enumerate(kept):
            memory_id = (await engine.add_memory(f"The bridge opens at {number}.", metadata)).memory_id
            wanted |= {memory_id} if meets(metadata, filters) else set()
        found = await engine.search_memory("When does the bridge open?", filters=filters)
        assert {hit.memory_id for hit in found.hits} == wanted
        assert (found.memories_searched, found.filtered) == (len(wanted), bool(filters))

    @settings(max_examples=40)
    @given(query=ANY_TEXT.filter(str.strip), filters=st.dictionaries(OTHER_KEY, ANY_VALUE, max_size=2))
    async def test_any_question_is_answered_whatever_the_filters(self, engine, query, filters):
        await engine.add_memory("The bridge opens at noon.")
        found = await engine.search_memory(query, filters=filters)
        assert all(0 <= hit.similarity_score <= 1 for hit in found.hits)


class TestProgress:
    async def test_it_grows_up_to_its_total(self, engine):
        text = "\n\n".join(f"Paragraph {number} tells of the river and of house {number}." for number in range(500))
        async with being_called() as reports:
            added = await engine.add_memory(text)
        steps = [done for done, _, _ in reports]
        assert len(steps) > 3
        assert steps == sorted(set(steps))
        assert all(total is None or done <= total for done, total, _ in reports)
        chunks = added.chunks_created
        assert reports[-1] == (chunks + 1, chunks + 3, f"embedded {chunks} of {chunks} chunks")

    async def test_work_without_a_known_total_still_reports_progress(self, monkeypatch):
        monkeypatch.setattr("zapomni_core.memory.add.PROGRESS_SECONDS", 0.01)
        enough = asyncio.Event()

        async def work():
            await enough.wait()
            return "done"

        async with being_called(lambda reports: len(reports) == 3 and enough.set()) as reports:
            assert await with_progress(work(), 5, "writing") == "done"
        steps = [done for done, _, _ in reports]
        assert all(5 < step < 6 for step in steps)
        assert steps == sorted(set(steps))
        assert {message for _, _, message in reports} == {"writing"}

    async def test_failures_and_cancellations_reach_the_caller(self):
        async def fail():
            raise DatabaseError("no")

        with pytest.raises(DatabaseError, match="no"):
            await with_progress(fail(), 0, "failing")
        ended = asyncio.Event()

        async def wait():
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        waiting = asyncio.create_task(with_progress(wait(), 0, "waiting"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(ended.wait(), 5)


class TestStatistics:
    async def test_searches_are_timed_and_shared_by_all_workspaces(self, engine):
        assert (await engine.get_stats()).avg_query_latency_ms is None
        began = time.perf_counter()
        await engine.in_workspace("work").search_memory("anything")
        assert 0 < (await engine.get_stats()).avg_query_latency_ms <= (time.perf_counter() - began) * 1000


@pytest.mark.parametrize(
    ("particulars", "heading", "seen"),
    [
        (KnownMetadata(), "", "text"),
        (KnownMetadata(author="Ada"), "", "Ada: text"),
        (KnownMetadata(author="A" * 1_000_000), "", "A" * 200 + ": text"),
        (KnownMetadata(timestamp=datetime(2023, 5, 8, tzinfo=UTC)), "", "[8 May 2023] text"),
        (
            KnownMetadata(author="Ada", timestamp=datetime(987, 1, 2, tzinfo=UTC)),
            "A > B",
            "[2 January 987] Ada: A > B: text",
        ),
    ],
)
def test_both_legs_see_when_who_and_under_what(particulars, heading, seen):
    assert indexed_text(particulars, heading, "text") == seen


@pytest.mark.parametrize("mode", ["fail", "store_raw", "queue_retry"])
async def test_an_extractor_that_needs_no_llm_is_never_made_up_for_later(tmp_path, mode):
    class Broken:
        name = "broken"
        asks_llm = False

        async def extract(self, text, *, timestamp=None):
            raise ProcessingError("it cannot read that")

        async def close(self): ...

    chosen = Settings(extractor="broken", on_llm_unavailable=mode)
    engine = MemoryEngine(
        chosen, store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder(), extractor=Broken()
    )
    with pytest.raises(ProcessingError, match="it cannot read that"):
        await engine.add_memory("text")
    assert (await engine.get_stats()).total_memories == 0
    await engine.close()


async def test_facts_move_to_the_memory_that_replaces_theirs(engine):
    old = (await engine.add_memory("Ada has a piano and an organ")).memory_id
    facts = [NewFact(subject="Ada", relation="has", object=name) for name in ("piano", "organ")]
    await engine.graph.state_facts(engine.workspace, old, facts)
    result = await engine.add_memory("Ada has a piano and a harp", replaces=old)
    assert (result.facts_moved, result.facts_dropped) == (1, 1)
    [fact] = await engine.graph.facts(engine.workspace)
    assert (fact.object.name, fact.evidence[0].memory_id) == ("piano", result.memory_id)
