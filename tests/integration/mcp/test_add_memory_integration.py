"""add_memory from end to end: the tool, a real engine, a real SQLite file."""

import asyncio

import numpy as np
import pytest

from tests.integration.mcp.memory_tools import FailingEmbedder, MemoryTools, text_of
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import ask
from zapomni_db.sqlite import SQLiteStore

CODE = "    def area(self):\n        return self.width * self.height"
LONG = "\n\n".join(f"Paragraph {number} tells of the river, the bridge and house {number}." for number in range(200))


async def test_add_memory_end_to_end(tools):
    metadata = {"source": "chat", "tags": ["travel"], "author": "Ada", "confirmed": True, "seats": [12, 14]}
    result = await tools.call("add_memory", text="Ada flies to Lisbon on Friday.", metadata=metadata)
    told = result["structuredContent"]
    assert text_of(result) == (
        f"Memory stored successfully.\nID: {told['memory_id']}\nChunks created: 1\nPreview: Ada flies to Lisbon on Friday."
    )
    kept = await tools.store.get("default", told["memory_id"])
    assert (kept.text, dict(kept.metadata), kept.chunks) == ("Ada flies to Lisbon on Friday.", metadata, 1)
    assert (kept.source, kept.tags, kept.author) == ("chat", ("travel",), "Ada")
    assert await tools.found("When does Ada fly?") == [told["memory_id"]]
    assert await tools.store.check() == []


async def test_add_memory_with_real_embeddings(path):
    engine = MemoryEngine(store=SQLiteStore(path))
    tools = MemoryTools(engine)
    memory_id = await tools.add("The invoice has to be paid by the end of May.")
    await tools.add("The cat sleeps on the window sill.")

    [vector] = await engine.embed(["The invoice has to be paid by the end of May."])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    identity = await engine.memories.embedder(engine.workspace)
    assert identity.dimension == len(vector) == 512
    same, other = [one.cosine for one in (await ask(engine.memories, "", vector=vector, embedder=identity)).found]
    assert same == pytest.approx(1, abs=1e-3)
    assert other < 0.5
    assert (await tools.found("Bis wann ist die Rechnung zu bezahlen?"))[0] == memory_id
    await engine.close()


async def test_error_propagation_from_core(tools, path):
    wrong = await tools.call("add_memory", text="valid", metadata={"timestamp": "yesterday"})
    assert (
        text_of(wrong).splitlines()[0]
        == "Error: metadata.timestamp must be ISO 8601, such as 2026-05-08T12:00:00+00:00"
    )
    assert wrong["structuredContent"]["status_code"] == 400
    missing = await tools.call("add_memory", text="valid", replaces="nobody")
    assert missing["structuredContent"]["error_code"] == "MEMORY_NOT_FOUND"
    await tools.engine.close()
    closed = await tools.call("add_memory", text="valid")
    assert text_of(closed).splitlines()[0] == "Error: The store … is closed."
    assert str(path) not in str(closed)
    assert closed["structuredContent"]["status_code"] == 503


async def test_code_keeps_the_indent_of_its_first_line(tools):
    memory_id = await tools.add(f"\n  \n{CODE}  \n\n", {"language": "python"})
    assert (await tools.ask("get_memory", memory_id=memory_id))["text"] == CODE
    [hit] = (await tools.ask("search_memory", query="area"))["results"]
    assert hit["text"] == CODE


async def test_the_same_text_with_the_same_metadata_is_stored_once(tools):
    first = await tools.add("Grace prefers tea.", {"tags": ["taste"], "source": "chat"})
    again = await tools.call(
        "add_memory", text="\nGrace prefers tea.\n", metadata={"source": "chat", "tags": ["taste"]}
    )
    assert again["structuredContent"]["memory_id"] == first
    assert again["structuredContent"]["outcome"] == "existing"
    assert text_of(again).startswith("Already remembered")
    assert await tools.counts() == (1, 1, 0, 0)


async def test_the_same_text_with_other_metadata_is_another_memory(tools):
    first = await tools.add("Grace prefers tea.", {"source": "chat"})
    assert await tools.add("Grace prefers tea.", {"source": "mail"}) != first
    assert await tools.counts() == (2, 2, 0, 0)


async def test_a_deleted_memory_is_restored_when_added_again(tools):
    first = await tools.add("The spare key is under the flowerpot.")
    await tools.ask("delete_memory", memory_id=first)
    assert await tools.found("spare key") == []
    again = await tools.call("add_memory", text="The spare key is under the flowerpot.")
    assert (again["structuredContent"]["memory_id"], again["structuredContent"]["outcome"]) == (first, "restored")
    assert "it is restored" in text_of(again)
    assert await tools.found("spare key") == [first]


async def test_a_replaced_memory_is_not_found_but_can_be_read(tools):
    old = await tools.add("The meeting is on Monday.")
    told = await tools.ask("add_memory", text="The meeting is on Tuesday.", replaces=old)
    new = told["memory_id"]
    assert told["replaced"] == old
    assert await tools.found("When is the meeting?") == [new]
    kept = await tools.ask("get_memory", memory_id=old)
    assert (kept["text"], kept["replaced_by"]) == ("The meeting is on Monday.", new)
    assert (await tools.ask("get_memory", memory_id=new))["replaces"] == [old]
    assert await tools.counts() == (1, 1, 0, 1)


async def test_a_deleted_correction_and_the_memory_it_replaced_can_be_restored(tools):
    old = await tools.add("The meeting is on Monday.")
    new = await tools.add("The meeting is on Tuesday.", replaces=old)
    refused = await tools.call("restore_memory", memory_id=old)
    assert f"replaced by {new}, which is kept" in text_of(refused)
    deleted = await tools.call("delete_memory", memory_id=new)
    assert f"It had replaced {old}" in text_of(deleted)
    assert await tools.found("When is the meeting?") == []
    await tools.ask("restore_memory", memory_id=old)
    assert await tools.found("When is the meeting?") == [old]


async def test_an_existing_memory_can_replace_another(tools):
    new = await tools.add("The meeting is on Tuesday.")
    old = await tools.add("The meeting is on Monday.")
    told = await tools.call("add_memory", text="The meeting is on Tuesday.", replaces=old)
    assert (told["structuredContent"]["memory_id"], told["structuredContent"]["replaced"]) == (new, old)
    assert f"Replaces: {old}" in text_of(told)
    assert await tools.found("meeting") == [new]


async def test_a_memory_cannot_replace_itself(tools):
    memory_id = await tools.add("The meeting is on Tuesday.")
    told = await tools.ask("add_memory", text="The meeting is on Tuesday.", replaces=memory_id)
    assert (told["memory_id"], told["outcome"], told.get("replaced")) == (memory_id, "existing", None)
    assert await tools.found("meeting") == [memory_id]


async def test_replacing_an_unknown_memory_stores_nothing(tools):
    result = await tools.call("add_memory", text="The meeting is on Tuesday.", replaces="550e8400")
    assert result["structuredContent"]["error_type"] == "not_found"
    assert "The memory to replace is not in this workspace" in text_of(result)
    assert await tools.counts() == (0, 0, 0, 0)


async def test_the_same_text_is_another_memory_in_another_workspace(tools):
    other = MemoryTools(tools.engine.in_workspace("work"))
    first, second = await tools.add("The code is 1234."), await other.add("The code is 1234.")
    assert first != second
    result = await other.call("add_memory", text="The code is 5678.", replaces=first)
    assert result["structuredContent"]["error_type"] == "not_found"


@pytest.mark.parametrize("works_for", [0, 12])
async def test_a_failing_embedder_stores_the_memory_without_vectors(open_tools, works_for):
    tools = open_tools(made=FailingEmbedder(works_for))
    result = await tools.call("add_memory", text=LONG)
    record = result["structuredContent"]
    assert record["status"] == "degraded"
    for text in (record["message"], text_of(result)):
        assert text.endswith("until its vectors are made: the model at … is broken.")
    assert await tools.found("bridge") == [record["memory_id"]]
    assert await tools.store.check() == []


async def test_a_call_cancelled_between_batches_stores_nothing(open_tools):
    begun = asyncio.Event()

    class Waiting(HashingEmbedder):
        async def _encode(self, texts):
            begun.set()
            await asyncio.Event().wait()

    tools = open_tools(made=Waiting())
    call = asyncio.create_task(tools.call("add_memory", text=LONG))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await tools.counts() == (0, 0, 0, 0)
    assert await tools.store.check() == []


async def test_a_search_finds_the_latest_write_of_another_process(open_tools):
    one, other = open_tools(), open_tools()
    assert await other.found("bridge") == []
    first = await one.add("The bridge opens at noon.")
    assert await other.found("bridge") == [first]
    assert (await other.ask("get_memory", memory_id=first))["text"] == "The bridge opens at noon."
    second = await other.add("The bridge closes at dusk.")
    assert set(await one.found("bridge")) == {first, second}
    await one.ask("delete_memory", memory_id=first)
    assert await other.found("bridge") == [second]
    await other.ask("restore_memory", memory_id=first)
    assert set(await one.found("bridge")) == {first, second}


async def test_concurrent_adds_are_all_stored(tools):
    ids = await asyncio.gather(*(tools.add(f"Fact number {number} of many.") for number in range(40)))
    assert len(set(ids)) == 40
    assert await tools.counts() == (40, 40, 0, 0)


class TestStoredEmbedder:
    async def test_the_store_chooses_the_embedder_if_the_settings_do_not(self, open_tools):
        memory_id = await open_tools().add("The bridge opens at noon.")
        assert await open_tools(embedder=None).found("bridge") == [memory_id]

    async def test_settings_that_contradict_the_store_are_refused(self, open_tools):
        await open_tools().add("The bridge opens at noon.")
        other = open_tools(embedder="default")
        for tool, arguments in [("add_memory", {"text": "x"}), ("search_memory", {"query": "bridge"})]:
            result = await other.call(tool, **arguments)
            assert result["structuredContent"]["error_code"] == "EMBEDDER_MISMATCH"
            assert text_of(result).splitlines()[0] == (
                "Error: the vectors of workspace 'default' were made by embedder 'hashing', the settings ask for 'default'; "
                "run: zapomni reindex --embedder default"
            )
        assert (await other.counts())[0] == 1

    async def test_another_model_of_the_same_embedder_is_refused(self, open_tools):
        await open_tools().add("The bridge opens at noon.")
        smaller = Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder(dimension=128))
        result = await open_tools(offered=(smaller,)).call("search_memory", query="bridge")
        assert "another model of embedder 'hashing'" in text_of(result)
        assert "zapomni reindex --embedder hashing" in text_of(result)

    async def test_the_first_add_sets_the_embedder_of_a_new_store(self, open_tools):
        one, other = open_tools(), open_tools(embedder=None)
        assert await one.found("bridge") == await other.found("bridge") == []
        await one.add("The bridge opens at noon.")
        await other.add("The bridge closes at dusk.")
        assert len(await one.found("bridge")) == len(await other.found("bridge")) == 2

    async def test_without_the_embedder_words_are_searched_and_stored(self, open_tools):
        await open_tools().add("The bridge opens at noon.")
        orphan = open_tools(offered=(), embedder=None)
        result = await orphan.call("search_memory", query="bridge")
        assert result["structuredContent"]["status"] == "degraded"
        assert [hit["text"] for hit in result["structuredContent"]["results"]] == ["The bridge opens at noon."]
        assert "made by embedder 'hashing', which no enabled plugin offers" in text_of(result)
        stored = await orphan.call("add_memory", text="The bridge closes at dusk.")
        assert stored["structuredContent"]["status"] == "degraded"
        assert "zapomni reindex --embedder default" in text_of(stored)
