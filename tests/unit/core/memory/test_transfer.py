"""Export and import move memories to another store or workspace without duplicates."""

import io
import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from zapomni_core.errors import ConfigurationError, ProcessingError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.transfer import BATCH, Imported, export_workspace, import_file
from zapomni_core.sessions import MemoryManager
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import problems, said
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import NewFact
from zapomni_db.reference import ReferenceStore

MAY, AUGUST = datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 8, 1, tzinfo=UTC)
QUESTIONS = [
    "Who owns the parser?",
    "tea or coffee",
    "where do herons nest",
    "Igor",
    "nothing of the kind",
    "Kyiv bridge",
]
DIMENSION = 3


between_stores = pytest.mark.parametrize(
    "urls",
    [
        "sqlite to sqlite",
        pytest.param("sqlite to falkordb", marks=pytest.mark.stores),
        pytest.param("falkordb to sqlite", marks=pytest.mark.stores),
    ],
    indirect=True,
)


@pytest.fixture
def urls(request, tmp_path):
    """The addresses of two empty stores, from which and to which memories move."""
    made = {
        "sqlite": lambda name: f"sqlite://{tmp_path}/{name}.db",
        "falkordb": lambda _: request.getfixturevalue("falkordb_url"),
    }
    source, target = getattr(request, "param", "sqlite to sqlite").split(" to ")
    return made[source]("source"), made[target]("target")


@asynccontextmanager
async def opened(url, workspace="default", embedder=None):
    """An engine on a store, as a process has it."""
    settings = Settings.model_validate({"store": url, "workspace": workspace})
    engine = MemoryEngine(settings, embedder=embedder or HashingEmbedder())
    try:
        yield engine
    finally:
        await engine.close()


async def fill(engine):
    """Store some of everything that a person can store."""
    parser = await engine.add_memory("Igor owns the parser.", {"tags": ["team"], "timestamp": "2025-05-01", "n": 1})
    await engine.graph.state_facts(
        engine.workspace, parser.memory_id, [NewFact(subject="Igor", relation="owns", object="parser", since=MAY)]
    )
    corrected = await engine.add_memory("Mira owns the parser now, not Igor.", {"author": "Ada"})
    facts = [
        NewFact(subject="parser", relation="owner", object=who, since=when, replaces=True)
        for who, when in (("Igor", MAY), ("Mira", AUGUST))
    ]
    await engine.graph.state_facts(engine.workspace, corrected.memory_id, facts)
    tea = await engine.add_memory("Ada likes tea.", {"source": "chat"})
    await engine.add_memory("Ada likes coffee.", {"source": "chat"}, replaces=tea.memory_id)
    await engine.update_metadata(parser.memory_id, {"n": 2})
    gone = await engine.add_memory("The bridge in Kyiv is closed.")
    text = (await engine.get_memory(gone.memory_id)).text
    await engine.graph.record(engine.workspace, gone.memory_id, said(text, "bridge", "stands_in", "Kyiv"))
    await engine.delete_memory(gone.memory_id)
    restored = await engine.add_memory("Herons nest in the old mill.")
    await engine.delete_memory(restored.memory_id)
    await engine.restore_memory(restored.memory_id)
    manager = MemoryManager(engine, embedding_dimension=DIMENSION)
    session = await manager.create_session("ada", {"topic": "birds"})
    for number in range(5):
        await manager.store_message(session, "user" if number % 2 else "assistant", f"Where do herons nest? {number}")
    for number, vector in enumerate(([0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [1e-7, 3e29, 0.5])):
        await manager.store_document(f"document {number}", {"tags": ["d"]}, vector)
    await manager.store_document("without a vector")
    await engine.finish_embedding()
    for number in range(2 * BATCH):
        await engine.add_memory(f"Note {number} of many on the {number % 7}th shelf, with \u2028, \x00 and 数据库.")


async def answers(engine):
    """What a person can ask, apart from ids that belong to a workspace."""
    manager = MemoryManager(engine, embedding_dimension=DIMENSION)
    found = [await engine.search_memory(question) for question in QUESTIONS]
    page = await engine.list_memories(state="all", order="inserted", limit=100)
    sessions = await engine.sessions.list_sessions(engine.workspace)
    graph = {
        at: await engine.graph.related(engine.workspace, ["parser", "Igor"], depth=2, at=at)
        for at in (None, MAY, AUGUST - timedelta(days=1), AUGUST)
    }
    return {
        "hits": [[(hit.memory_id, hit.text) for hit in one.hits] for one in found],
        "scores": [[hit.similarity_score for hit in one.hits] for one in found],
        "memories": [
            (one.id, one.text, one.metadata, one.created_at, one.deleted_at, one.replaces, one.replaced_by, one.key)
            for one in page.memories
        ],
        "history": [await engine.history(one.id) for one in page.memories],
        "sessions": sessions,
        "messages": [
            [(one.id, one.role, one.content) for one in await manager.get_conversation_history(each.id)]
            for each in sessions
        ],
        "nearest": [(one.id, one.embedding) for one in await manager.semantic_search([0.1, 0.2, 0.3])],
        "documents": [
            one.id
            for one in await manager.temporal_query(datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
        ],
        "graph": {
            at: [
                (
                    distance,
                    one.subject.name,
                    one.type,
                    one.object.name,
                    one.valid_from,
                    one.valid_until,
                    one.ended_by,
                    one.evidence,
                )
                for distance, one in around.relations
            ]
            for at, around in graph.items()
        },
        "counts": await engine.graph.counts(engine.workspace),
    }


async def check_answers(engine, before):
    """The answers are those that another store gave, whose vectors may have another precision."""
    now = await answers(engine)
    assert now.pop("scores") == [pytest.approx(scores, abs=0.001) for scores in before["scores"]]
    assert now == {key: value for key, value in before.items() if key != "scores"}


async def exported(engine):
    """The lines of a workspace."""
    file = io.BytesIO()
    await export_workspace(engine, file.write)
    return file.getvalue()


async def imported(engine, content):
    """How many memories were stored and how many were there, and how many sessions were stored."""
    counted = Imported()
    await import_file(engine, io.BytesIO(content), counted)
    return counted.stored, counted.existing, counted.sessions


@between_stores
async def test_the_answers_are_the_same_after_export_wipe_and_import_and_back(urls):
    source, target = urls
    async with opened(source) as engine:
        await fill(engine)
        before, content = await answers(engine), await exported(engine)
    assert all(before["hits"][:4])
    assert len(before["nearest"]) == 3
    assert all(before["graph"].values())
    async with opened(target) as engine:
        stored, existing, sessions = await imported(engine, content)
        assert (stored > 2 * BATCH, existing, sessions) == (True, 0, 1)
        await check_answers(engine, before)
        again = await exported(engine)
        assert await problems(engine.memories) == []
    assert without_moment(again) == without_moment(content)
    async with opened(source, "another") as engine:
        await imported(engine, again)
        await check_answers(engine, before)
        assert await problems(engine.memories) == []
    async with opened(source) as engine:
        await check_answers(engine, before)


@between_stores
async def test_importing_twice_changes_nothing(urls):
    source, target = urls
    async with opened(source) as engine:
        await fill(engine)
        content = await exported(engine)
    async with opened(target) as engine:
        stored, _, _ = await imported(engine, content)
        before = await exported(engine)
        assert await imported(engine, content) == (0, stored, 0)
        assert without_moment(await exported(engine)) == without_moment(before)


@between_stores
async def test_importing_where_everything_is_changes_nothing(urls):
    source, _ = urls
    async with opened(source) as engine:
        await fill(engine)
        content = await exported(engine)
        assert (await imported(engine, content))[0] == 0
        assert without_moment(await exported(engine)) == without_moment(content)


@between_stores
async def test_an_import_that_failed_in_the_middle_is_continued(urls):
    """As one that was killed: only whole batches are there."""
    source, target = urls
    async with opened(source) as engine:
        await fill(engine)
        before, content = await answers(engine), await exported(engine)
    async with opened(target, embedder=Failing(after=2)) as engine:
        with pytest.raises(ProcessingError):
            await imported(engine, content)
    async with opened(target) as engine:
        stored, existing, _ = await imported(engine, content)
        assert stored
        assert existing
        await check_answers(engine, before)


@between_stores
async def test_an_equal_memory_with_another_id_is_found_and_what_it_replaced_points_to_it(urls):
    source, target = urls
    async with opened(source) as engine:
        old = await engine.add_memory("old")
        await engine.add_memory("new", replaces=old.memory_id)
        older = await engine.add_memory("older")
        await engine.add_memory("new", replaces=older.memory_id)
        content = await exported(engine)
    async with opened(target) as engine:
        there = await engine.add_memory("new")
        assert await imported(engine, content) == (2, 1, 0)
        for replaced in (old, older):
            assert (await engine.get_memory(replaced.memory_id)).replaced_by == there.memory_id
        assert [hit.memory_id for hit in (await engine.search_memory("old new older")).hits] == [there.memory_id]


async def test_vectors_are_made_by_the_embedder_of_the_workspace(urls):
    source, target = urls
    async with opened(source) as engine:
        await engine.add_memory("Herons nest in the old mill.")
        content = await exported(engine)
    other = HashingEmbedder(64, name="another")
    async with opened(target, embedder=other) as engine:
        await imported(engine, content)
        found = await engine.search_memory("old mill")
        assert found.hits
        assert (await engine.get_stats()).embedder == other.identity
        assert json.loads(content.splitlines()[0])["embedder"]["name"] == "hashing"


async def test_waiting_jobs_are_counted_and_stay(urls):
    from zapomni_db.records import NewJob

    source, target = urls
    async with opened(source) as engine:
        await engine.add_memory("text")
        await engine.jobs.enqueue(
            engine.workspace, [NewJob(kind="extract", not_before=datetime(2100, 1, 1, tzinfo=UTC))]
        )
        content = await exported(engine)
    assert json.loads(content.splitlines()[0])["counts"] == {
        "memories": 1,
        "deleted": 0,
        "replaced": 0,
        "waiting_jobs": 1,
    }
    async with opened(target) as engine:
        await imported(engine, content)
        assert (await engine.jobs.counts(engine.workspace)).queued == 0


@between_stores
async def test_purged_memories_are_not_exported_and_deleted_ones_stay_deleted(urls):
    source, target = urls
    async with opened(source) as engine:
        secret, deleted = [(await engine.add_memory(text)).memory_id for text in ("a secret", "deleted")]
        await engine.delete_memory(secret)
        await engine.purge()
        await engine.delete_memory(deleted)
        content = await exported(engine)
    assert b"secret" not in content
    async with opened(target) as engine:
        await imported(engine, content)
        assert (await engine.list_memories()).memories == []
        assert (await engine.restore_memory(deleted)).text == "deleted"


async def test_an_empty_workspace_is_exported_and_imported(urls):
    source, target = urls
    async with opened(source) as engine:
        content = await exported(engine)
    async with opened(target) as engine:
        assert await imported(engine, content) == (0, 0, 0)


@pytest.fixture
async def three(urls):
    """An export of three memories."""
    async with opened(urls[0]) as engine:
        for text in ("first", "second", "third"):
            await engine.add_memory(text)
        return await exported(engine)


async def test_editors_and_other_systems_may_write_the_file_anew(urls, three):
    content = b"\xef\xbb\xbf" + three.replace(b"\n", b"\r\n") + b"\r\n"
    async with opened(urls[1]) as engine:
        assert await imported(engine, content) == (3, 0, 0)


def changed(line, **fields):
    return json.dumps({**json.loads(line), **fields}).encode()


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (lambda _: b"{not json", "JSON"),
        (lambda _: b"\xff\xfe", "JSON"),
        (lambda _: b"[]", "type"),
        (lambda _: b'{"type": "fact"}', "type"),
        (lambda line: changed(line, text=5), "text"),
        (lambda line: changed(line, text=" "), "text"),
        (lambda line: changed(line, id=""), "id"),
        (lambda line: changed(line, colour="red"), "colour"),
        (lambda line: changed(line, created_at="yesterday"), "created_at"),
        (lambda line: changed(line, metadata={"tags": 5}), "tags"),
        (lambda line: changed(line, metadata={"n": float("nan")}), "metadata"),
        (lambda line: changed(line, kind="message"), "session"),
        (lambda line: changed(line, vector=[0.5]), "document"),
        (lambda line: changed(line, kind="document", vector=[1e300]), "vector"),
        (lambda line: changed(line, extractions=[{"extractor": "x", "entities": [{"name": "n", "type": "t", "spans": [[0, 99]]}]}]), "spans"),
        (lambda line: changed(line, extractions=[{"extractor": "x", "entities": [], "relations": [{"subject": "a"}]}]), "extractions"),
        (lambda line: changed(line, history=[{"at": "2025-05-01T00:00:00Z", "what": "eaten"}]), "history"),
        (lambda line: line[: len(line) // 2], "JSON"),
    ],
)  # fmt: skip
async def test_an_import_stops_at_a_broken_line_and_names_it(urls, three, broken, named):
    header, first, second, third, end = three.splitlines()
    async with opened(urls[1]) as engine:
        with pytest.raises(InvalidInputError, match=rf"line 3: .*{named}") as raised:
            await imported(engine, b"\n".join([header, first, broken(second), third, end, b""]))
        assert "second" not in str(raised.value), "stored content does not belong in messages"
        assert [one.text for one in (await engine.list_memories()).memories] == ["first"]
        assert await imported(engine, three) == (2, 1, 0)


@pytest.mark.parametrize("cut", [1, 10], ids=["before the last line end", "in the last line"])
async def test_a_file_that_was_cut_off_is_noticed(urls, three, cut):
    async with opened(urls[1]) as engine:
        whole = three.rstrip() if cut == 1 else three[:-cut]
        if cut == 1:
            assert await imported(engine, whole) == (3, 0, 0)
        else:
            with pytest.raises(InvalidInputError, match=r"line 5: .*cut off"):
                await imported(engine, whole)


async def test_a_file_that_was_cut_off_between_two_lines_is_noticed(urls, three):
    async with opened(urls[1]) as engine:
        with pytest.raises(InvalidInputError, match="cut off after line 3"):
            await imported(engine, b"\n".join([*three.splitlines()[:3], b""]))
        assert len((await engine.list_memories()).memories) == 2


async def test_two_exports_in_one_file_are_not_taken_for_one(urls, three):
    async with opened(urls[1]) as engine:
        with pytest.raises(InvalidInputError, match="line 6"):
            await imported(engine, three + three)


@pytest.mark.parametrize(
    ("first", "named"),
    [
        (b"", "not an export"),
        (b"SQLite format 3\0", "not an export"),
        (b'{"id": 1}', "not an export"),
        (b'{"type": "zapomni-export", "version": 99}', "newer"),
    ],
)
async def test_a_file_of_another_format_is_refused(urls, first, named):
    async with opened(urls[1]) as engine:
        with pytest.raises(InvalidInputError, match=named):
            await imported(engine, first + b"\n")


async def test_a_store_without_sessions_says_so(urls):
    async with opened(urls[0]) as engine:
        await MemoryManager(engine).create_session("ada")
        content = await exported(engine)
    engine = MemoryEngine(Settings.model_validate({}), store=ReferenceStore(), embedder=HashingEmbedder())
    with pytest.raises(ConfigurationError, match="sessions"):
        await imported(engine, content)


@between_stores
async def test_own_vectors_come_back_bit_by_bit(urls):
    numbers = np.random.default_rng(7).standard_normal(1536).astype(np.float32)
    async with opened(urls[0]) as engine:
        await MemoryManager(engine).store_document("document", None, numbers.tolist())
        content = await exported(engine)
    async with opened(urls[1]) as engine:
        await imported(engine, content)
        (found,) = await MemoryManager(engine).semantic_search(numbers.tolist())
    assert np.asarray(found.embedding, np.float32).tobytes() == numbers.tobytes()


class Failing(HashingEmbedder):
    """An embedder that fails after some calls."""

    def __init__(self, after):
        super().__init__()
        self.left = after

    async def embed(self, texts, **options):
        self.left -= 1
        if self.left < 0:
            raise ProcessingError("no more")
        return await super().embed(texts, **options)


def without_moment(content):
    """The lines, but for when they were written and for the order of entities, which does not count."""
    header, *lines = map(json.loads, content.splitlines())
    for one in [found for line in lines for found in line.get("extractions", ())]:
        one["entities"].sort(key=str)
    return {**header, "created_at": "", "workspace": ""}, lines
