"""add_memory from end to end: the tool, a real engine, a real SQLite file."""

import asyncio

import numpy as np
import pytest

from tests.integration.mcp.houses import FailingEmbedder, House, text_of
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import ask
from zapomni_db.sqlite import SQLiteStore

CODE = "    def area(self):\n        return self.width * self.height"
LONG = "\n\n".join(f"Paragraph {number} tells of the river, the bridge and house {number}." for number in range(200))


async def test_add_memory_end_to_end(house):
    metadata = {"source": "chat", "tags": ["travel"], "author": "Ada", "confirmed": True, "seats": [12, 14]}
    result = await house.call("add_memory", text="Ada flies to Lisbon on Friday.", metadata=metadata)
    told = result["structuredContent"]
    assert text_of(result) == (
        f"Memory stored successfully.\nID: {told['memory_id']}\nChunks created: 1\nPreview: Ada flies to Lisbon on Friday."
    )
    kept = await house.store.get("default", told["memory_id"])
    assert (kept.text, dict(kept.metadata), kept.chunks) == ("Ada flies to Lisbon on Friday.", metadata, 1)
    assert (kept.source, kept.tags, kept.author) == ("chat", ("travel",), "Ada")
    assert await house.found("When does Ada fly?") == [told["memory_id"]]
    assert await house.store.check() == []


async def test_add_memory_with_real_embeddings(path):
    engine = MemoryEngine(store=SQLiteStore(path))
    house = House(engine)
    memory_id = await house.add("The invoice has to be paid by the end of May.")
    await house.add("The cat sleeps on the window sill.")

    [vector] = await engine.embed(["The invoice has to be paid by the end of May."])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    identity = await engine.memories.embedder(engine.workspace)
    assert identity.dimension == len(vector) == 512
    same, other = [one.cosine for one in (await ask(engine.memories, "", vector=vector, embedder=identity)).found]
    assert same == pytest.approx(1, abs=1e-3)
    assert other < 0.5
    assert (await house.found("Bis wann ist die Rechnung zu bezahlen?"))[0] == memory_id
    await engine.close()


async def test_error_propagation_from_core(house, path):
    wrong = await house.call("add_memory", text="valid", metadata={"timestamp": "yesterday"})
    assert (
        text_of(wrong).splitlines()[0]
        == "Error: metadata.timestamp must be ISO 8601, such as 2026-05-08T12:00:00+00:00"
    )
    assert wrong["structuredContent"]["status_code"] == 400
    missing = await house.call("add_memory", text="valid", replaces="nobody")
    assert missing["structuredContent"]["error_code"] == "MEMORY_NOT_FOUND"
    await house.engine.close()
    closed = await house.call("add_memory", text="valid")
    assert text_of(closed).splitlines()[0] == "Error: The store … is closed."
    assert str(path) not in str(closed)
    assert closed["structuredContent"]["status_code"] == 503


async def test_code_keeps_the_indent_of_its_first_line(house):
    memory_id = await house.add(f"\n  \n{CODE}  \n\n", {"language": "python"})
    assert (await house.ask("get_memory", memory_id=memory_id))["text"] == CODE
    [hit] = (await house.ask("search_memory", query="area"))["results"]
    assert hit["text"] == CODE


async def test_the_same_text_with_the_same_metadata_is_kept_once_and_says_so(house):
    first = await house.add("Grace prefers tea.", {"tags": ["taste"], "source": "chat"})
    again = await house.call(
        "add_memory", text="\nGrace prefers tea.\n", metadata={"source": "chat", "tags": ["taste"]}
    )
    assert again["structuredContent"]["memory_id"] == first
    assert again["structuredContent"]["outcome"] == "existing"
    assert text_of(again).startswith("Already remembered")
    assert await house.counts() == (1, 1, 0, 0)


async def test_the_same_text_with_other_metadata_is_another_memory(house):
    first = await house.add("Grace prefers tea.", {"source": "chat"})
    assert await house.add("Grace prefers tea.", {"source": "mail"}) != first
    assert await house.counts() == (2, 2, 0, 0)


async def test_what_was_deleted_is_restored_when_it_is_added_again(house):
    first = await house.add("The spare key is under the flowerpot.")
    await house.ask("delete_memory", memory_id=first)
    assert await house.found("spare key") == []
    again = await house.call("add_memory", text="The spare key is under the flowerpot.")
    assert (again["structuredContent"]["memory_id"], again["structuredContent"]["outcome"]) == (first, "restored")
    assert "it is restored" in text_of(again)
    assert await house.found("spare key") == [first]


async def test_a_correction_takes_the_old_memory_out_of_the_search_and_keeps_it_readable(house):
    old = await house.add("The meeting is on Monday.")
    told = await house.ask("add_memory", text="The meeting is on Tuesday.", replaces=old)
    new = told["memory_id"]
    assert told["replaced"] == old
    assert await house.found("When is the meeting?") == [new]
    kept = await house.ask("get_memory", memory_id=old)
    assert (kept["text"], kept["replaced_by"]) == ("The meeting is on Monday.", new)
    assert (await house.ask("get_memory", memory_id=new))["replaces"] == [old]
    assert await house.counts() == (1, 1, 0, 1)


async def test_a_deleted_correction_is_lost_no_more_than_what_it_corrected(house):
    old = await house.add("The meeting is on Monday.")
    new = await house.add("The meeting is on Tuesday.", replaces=old)
    refused = await house.call("restore_memory", memory_id=old)
    assert f"replaced by {new}, which is kept" in text_of(refused)
    deleted = await house.call("delete_memory", memory_id=new)
    assert f"It had replaced {old}" in text_of(deleted)
    assert await house.found("When is the meeting?") == []
    await house.ask("restore_memory", memory_id=old)
    assert await house.found("When is the meeting?") == [old]


async def test_a_correction_that_is_remembered_already_still_replaces_and_says_so(house):
    new = await house.add("The meeting is on Tuesday.")
    old = await house.add("The meeting is on Monday.")
    told = await house.call("add_memory", text="The meeting is on Tuesday.", replaces=old)
    assert (told["structuredContent"]["memory_id"], told["structuredContent"]["replaced"]) == (new, old)
    assert f"Replaces: {old}" in text_of(told)
    assert await house.found("meeting") == [new]


async def test_a_memory_replaces_nothing_by_replacing_itself(house):
    memory_id = await house.add("The meeting is on Tuesday.")
    told = await house.ask("add_memory", text="The meeting is on Tuesday.", replaces=memory_id)
    assert (told["memory_id"], told["outcome"], told.get("replaced")) == (memory_id, "existing", None)
    assert await house.found("meeting") == [memory_id]


async def test_a_correction_of_what_was_never_there_stores_nothing(house):
    result = await house.call("add_memory", text="The meeting is on Tuesday.", replaces="550e8400")
    assert result["structuredContent"]["error_type"] == "not_found"
    assert "The memory to replace is not in this workspace" in text_of(result)
    assert await house.counts() == (0, 0, 0, 0)


async def test_the_same_text_is_another_memory_in_another_workspace(house):
    other = House(house.engine.in_workspace("work"))
    first, second = await house.add("The code is 1234."), await other.add("The code is 1234.")
    assert first != second
    result = await other.call("add_memory", text="The code is 5678.", replaces=first)
    assert result["structuredContent"]["error_type"] == "not_found"


@pytest.mark.parametrize("works_for", [0, 12])
async def test_what_is_added_while_the_embedder_fails_is_stored_without_vectors(open_house, works_for):
    house = open_house(made=FailingEmbedder(works_for))
    result = await house.call("add_memory", text=LONG)
    told = result["structuredContent"]
    assert told["status"] == "degraded"
    for text in (told["message"], text_of(result)):
        assert text.endswith("until its vectors are made: the model at … is broken.")
    assert await house.found("bridge") == [told["memory_id"]]
    assert await house.store.check() == []


async def test_a_call_that_is_cancelled_between_batches_leaves_nothing(open_house):
    begun = asyncio.Event()

    class Waiting(HashingEmbedder):
        async def _encode(self, texts):
            begun.set()
            await asyncio.Event().wait()

    house = open_house(made=Waiting())
    call = asyncio.create_task(house.call("add_memory", text=LONG))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await house.counts() == (0, 0, 0, 0)
    assert await house.store.check() == []


async def test_a_write_by_one_process_is_found_by_the_next_search_of_another(open_house):
    one, other = open_house(), open_house()
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


async def test_many_calls_at_once_are_each_kept(house):
    ids = await asyncio.gather(*(house.add(f"Fact number {number} of many.") for number in range(40)))
    assert len(set(ids)) == 40
    assert await house.counts() == (40, 40, 0, 0)


class TestTheEmbedderOfTheStore:
    async def test_the_store_chooses_the_embedder_where_the_settings_do_not(self, open_house):
        memory_id = await open_house().add("The bridge opens at noon.")
        assert await open_house(embedder=None).found("bridge") == [memory_id]

    async def test_settings_that_contradict_the_store_are_refused_with_the_command_that_helps(self, open_house):
        await open_house().add("The bridge opens at noon.")
        other = open_house(embedder="default")
        for tool, arguments in [("add_memory", {"text": "x"}), ("search_memory", {"query": "bridge"})]:
            result = await other.call(tool, **arguments)
            assert result["structuredContent"]["error_code"] == "EMBEDDER_MISMATCH"
            assert text_of(result).splitlines()[0] == (
                "Error: the vectors of workspace 'default' were made by embedder 'hashing', the settings ask for 'default'; "
                "run: zapomni reindex --embedder default"
            )
        assert (await other.counts())[0] == 1

    async def test_another_model_of_the_same_embedder_is_refused_too(self, open_house):
        await open_house().add("The bridge opens at noon.")
        smaller = Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder(dimension=128))
        result = await open_house(offered=(smaller,)).call("search_memory", query="bridge")
        assert "another model of embedder 'hashing'" in text_of(result)
        assert "zapomni reindex --embedder hashing" in text_of(result)

    async def test_whoever_adds_first_settles_the_embedder_of_a_new_store(self, open_house):
        one, other = open_house(), open_house(embedder=None)
        assert await one.found("bridge") == await other.found("bridge") == []
        await one.add("The bridge opens at noon.")
        await other.add("The bridge closes at dusk.")
        assert len(await one.found("bridge")) == len(await other.found("bridge")) == 2

    async def test_where_nobody_offers_the_embedder_any_more_words_are_searched_and_stored(self, open_house):
        await open_house().add("The bridge opens at noon.")
        orphan = open_house(offered=(), embedder=None)
        result = await orphan.call("search_memory", query="bridge")
        assert result["structuredContent"]["status"] == "degraded"
        assert [hit["text"] for hit in result["structuredContent"]["results"]] == ["The bridge opens at noon."]
        assert "made by embedder 'hashing', which no enabled plugin offers" in text_of(result)
        stored = await orphan.call("add_memory", text="The bridge closes at dusk.")
        assert stored["structuredContent"]["status"] == "degraded"
        assert "zapomni reindex --embedder default" in text_of(stored)
