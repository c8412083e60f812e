"""The contract of a memory store as a test class: subclass it, make a store, and pytest does the rest."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Protocol

import pytest

from zapomni_core.testing.samples import (
    EMBEDDER,
    WORKSPACE,
    ask,
    delete,
    kept,
    problems,
    purge_deleted,
    put,
    restore,
    sample_chunk,
    sample_memory,
    sample_vector,
    searchable,
)
from zapomni_core.testing.store_contracts.deletion import ForgettingContract
from zapomni_core.testing.store_contracts.origins import MemoryOriginContract
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db import store as files
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError, MemoryNotFoundError
from zapomni_db.store import MemoryStore

ANY_TEXTS = [
    "plain",
    " indented\n\nand\ttabbed \r\n",
    "before\0after\0",
    "\0",
    "Ünïcödé 数据库备份 ひらがな ภาษาไทย עברית 👨‍👩‍👧 🇺🇦 e\u0301 \ufeff \u202e \U0010ffff",
    "'; DROP TABLE memory; -- \" ` $(id) {{x}} %s \\",
    "long" * 250_000,
]
LONE_SURROGATE = "\ud800"


class MemoryStoreContract(ForgettingContract, MemoryOriginContract):
    """The contract of a store of memories.

    ```python
    class TestMyStore(MemoryStoreContract):
        async def make_store(self, tmp_path):
            return MyStore(tmp_path / "store")
    ```
    """

    async def test_a_memory_is_found_by_its_key_until_it_is_replaced(self, store: MemoryStore) -> None:
        added = await put(store, sample_memory("Ada likes tea", key="k1"))
        for found in (await store.get(WORKSPACE, key="k1"), await store.get(WORKSPACE, added.memory_id)):
            assert found is not None
            assert found.id == added.memory_id
        assert await store.get(WORKSPACE, key="k2") is None
        assert await store.get("elsewhere", key="k1") is None
        await delete(store, added.memory_id)
        assert await store.get(WORKSPACE, key="k1") is not None, "adding it again would restore it"
        await restore(store, added.memory_id)
        await put(store, sample_memory("Ada likes coffee", replaces=added.memory_id))
        assert await store.get(WORKSPACE, key="k1") is None

    async def test_several_memories_are_kept_together_or_not_at_all(self, store: MemoryStore) -> None:
        first, second = sample_memory("first"), sample_memory("second")
        assert [one.outcome for one in await store.add(WORKSPACE, [first, second, first])] == [
            "stored",
            "stored",
            "existing",
        ]
        with pytest.raises(MemoryNotFoundError):
            await store.add(WORKSPACE, [sample_memory("third"), sample_memory("fourth", replaces="no such id")])
        assert await searchable(store) == ["first", "second"]
        assert await store.add(WORKSPACE, []) == []

    async def test_a_memory_comes_back_as_it_was_kept(self, store: MemoryStore) -> None:
        when = datetime(2023, 5, 8, 12, 30, 0, 123456, tzinfo=timezone(timedelta(hours=3)))
        new = sample_memory(
            "Ada likes tea",
            metadata={"a": 1},
            kind="fact",
            tags=("tea", "ada"),
            source="chat",
            author="Ada",
            conversation="c1",
            timestamp=when,
        )
        added = await put(store, new)
        memory = await kept(store, added.memory_id)
        assert (added.outcome, added.chunks) == ("stored", 1)
        for field in ("text", "metadata", "kind", "tags", "source", "author", "conversation", "timestamp"):
            assert getattr(memory, field) == getattr(new, field), field
        assert (memory.id, memory.workspace, memory.chunks) == (added.memory_id, WORKSPACE, 1)
        assert (memory.deleted_at, memory.replaces, memory.replaced_by) == (None, (), None)
        assert datetime.now(UTC) - memory.created_at < timedelta(minutes=10)

    @pytest.mark.parametrize("text", ANY_TEXTS, ids=range(len(ANY_TEXTS)))
    async def test_any_text_comes_back_exactly(self, store: MemoryStore, text: str) -> None:
        new = sample_memory(
            text,
            replace(sample_chunk(text), heading=text, terms=()),
            metadata={text: [text]},
            kind=text,
            tags=(text,),
            source=text,
            author=text,
            conversation=text,
        )
        memory = await kept(store, (await put(store, new)).memory_id)
        proposed = await ask(store, "", vector=sample_vector("any"))
        (found,) = await store.chunks(WORKSPACE, [one.chunk for one in proposed.found])
        for one in (memory, found):
            assert (one.text, one.kind, one.tags) == (text, text, (text,))
            assert (one.source, one.author, one.conversation) == (text, text, text)
        assert (memory.metadata, found.heading) == ({text: [text]}, text)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("text", f"half {LONE_SURROGATE}"),
            ("kind", LONE_SURROGATE),
            ("source", LONE_SURROGATE),
            ("author", LONE_SURROGATE),
            ("conversation", LONE_SURROGATE),
            ("tags", (LONE_SURROGATE,)),
            ("metadata", {"deep": [LONE_SURROGATE]}),
            ("metadata", {LONE_SURROGATE: 1}),
            ("metadata", {"not a number": float("nan")}),
        ],
    )
    async def test_what_cannot_be_kept_is_refused_by_name_and_leaves_nothing(
        self, store: MemoryStore, field: str, value: Any
    ) -> None:
        new = replace(sample_memory("text"), **{field: value})
        with pytest.raises(InvalidInputError, match=field):
            await put(store, new)
        assert (await store.stats(WORKSPACE)).memories == 0
        assert await problems(store) == []

    @pytest.mark.parametrize(
        "metadata",
        [
            {"int": 2**63 + 1, "small": -(2**70), "float": 0.1, "tiny": 5e-324, "exact": 1.0, "zero": -0.0},
            {"true": True, "false": False, "null": None, "": "empty", "list": [1, [2, {"3": []}], {}]},
            {"deep": eval("[" * 100 + "]" * 100)},  # noqa: S307 - brackets only
            {f"key {number}": number for number in range(10_000)},
        ],
        ids=["numbers", "shapes", "depth", "keys"],
    )
    async def test_metadata_comes_back_exactly(self, store: MemoryStore, metadata: dict[str, Any]) -> None:
        added = await put(store, sample_memory("text", metadata=metadata))
        came_back = (await kept(store, added.memory_id)).metadata
        assert repr(dict(came_back)) == repr(metadata)

    async def test_what_a_caller_changes_afterwards_changes_no_memory(self, store: MemoryStore) -> None:
        metadata: dict[str, Any] = {"list": [1]}
        added = await put(store, sample_memory("text", metadata=metadata))
        metadata["list"].append(2)
        assert (await kept(store, added.memory_id)).metadata == {"list": [1]}

    async def test_a_chunk_outside_its_text_is_refused(self, store: MemoryStore) -> None:
        with pytest.raises(InvalidInputError, match="chunk"):
            await put(store, sample_memory("text", replace(sample_chunk("text"), end=5)))

    async def test_an_id_that_nobody_has_is_nothing(self, store: MemoryStore) -> None:
        for unknown in ("", "no such id", "\0", LONE_SURROGATE, "' OR 1=1 --"):
            assert await store.get(WORKSPACE, unknown) is None
            assert await delete(store, unknown) is None
            assert await restore(store, unknown) is None

    async def test_workspaces_see_nothing_of_each_other(self, store: MemoryStore) -> None:
        mine = await put(store, sample_memory("secret"), "mine")
        assert await store.get("yours", mine.memory_id) is None
        assert await delete(store, mine.memory_id, "yours") is None
        assert await searchable(store, "yours") == []
        with pytest.raises(MemoryNotFoundError):
            await put(store, sample_memory("new", replaces=mine.memory_id), "yours")
        assert await searchable(store, "mine") == ["secret"]
        await delete(store, mine.memory_id, "mine")
        assert await restore(store, mine.memory_id, "yours") is None
        assert await searchable(store, "mine") == []
        assert (await put(store, sample_memory("secret"), "yours")).outcome == "stored"
        with pytest.raises(MemoryNotFoundError):
            await put(store, sample_memory("new", replaces=mine.memory_id), "yours")

    async def test_what_was_kept_is_there_after_closing(self, store: MemoryStore, tmp_path: Path) -> None:
        added = await put(store, sample_memory("still here"))
        await store.close()
        await store.close()
        again = await self.make_store(tmp_path)
        try:
            assert (await kept(again, added.memory_id)).text == "still here"
            assert await searchable(again) == ["still here"]
        finally:
            await again.close()

    async def test_equal_memories_are_kept_once(self, store: MemoryStore) -> None:
        first = await put(store, sample_memory("same", metadata={"a": 1, "b": 2}))
        second = await put(store, sample_memory("same", metadata={"b": 2, "a": 1}))
        assert (second.outcome, second.memory_id, second.chunks) == ("existing", first.memory_id, 1)
        assert await searchable(store) == ["same"]

    async def test_memories_that_differ_in_anything_are_each_kept(self, store: MemoryStore) -> None:
        for new in (
            sample_memory("same"),
            sample_memory("Same"),
            sample_memory("same", metadata={"a": 1}),
            sample_memory("same", metadata={"a": True}),
            sample_memory("same", kind="fact"),
            sample_memory("same", key=""),
            sample_memory("same", key=""),
        ):
            assert (await put(store, new)).outcome == "stored"
        assert len(await searchable(store)) == 7

    async def test_equal_memories_that_come_at_once_are_kept_once(self, store: MemoryStore, other: MemoryStore) -> None:
        adding = [put(where, sample_memory("same")) for where in [store, other] * 8]
        added = await asyncio.gather(*adding)
        assert len({one.memory_id for one in added}) == 1
        assert sorted(one.outcome for one in added) == ["existing"] * 15 + ["stored"]

    async def test_an_equal_memory_that_was_deleted_is_restored(self, store: MemoryStore) -> None:
        first = await put(store, sample_memory("same"))
        await delete(store, first.memory_id)
        second = await put(store, sample_memory("same"))
        assert (second.outcome, second.memory_id) == ("restored", first.memory_id)
        assert await searchable(store) == ["same"]

    async def test_the_first_memory_settles_the_embedder(self, store: MemoryStore, other: MemoryStore) -> None:
        with pytest.raises(MemoryNotFoundError):
            await put(store, sample_memory("refused", replaces="no such id"))
        assert await store.embedder(WORKSPACE) is None
        await put(store, sample_memory("first"))
        assert await other.embedder(WORKSPACE) == EMBEDDER
        with pytest.raises(EmbedderMismatchError, match=r"samples.*another"):
            await put(other, replace(sample_memory("second"), embedder=replace(EMBEDDER, name="another")))

    async def test_a_vector_of_another_dimension_is_refused(self, store: MemoryStore) -> None:
        chunk = replace(sample_chunk("text"), vector=sample_vector("text", 8))
        with pytest.raises(InvalidInputError, match="vector"):
            await put(store, sample_memory("text", chunk))

    async def test_statistics_count_what_there_is(self, store: MemoryStore) -> None:
        empty = await store.stats(WORKSPACE)
        assert (empty.memories, empty.chunks, empty.deleted, empty.superseded) == (0, 0, 0, 0)
        old = await put(store, sample_memory("a b", sample_chunk("a b", 0, 1), sample_chunk("a b", 2)))
        await put(store, sample_memory("c d", sample_chunk("c d", 0, 1), sample_chunk("c d", 2)))
        await put(store, sample_memory("e", replaces=old.memory_id))
        gone = await put(store, sample_memory("f"), "other")
        await delete(store, gone.memory_id, "other")
        here, there = await store.stats(WORKSPACE), await store.stats("other")
        assert (here.memories, here.chunks, here.deleted, here.superseded) == (2, 3, 0, 1)
        assert (there.memories, there.chunks, there.deleted, there.superseded) == (0, 0, 1, 0)
        await delete(store, old.memory_id)
        both = await store.stats(WORKSPACE)
        assert (both.memories, both.chunks, both.deleted, both.superseded) == (2, 3, 1, 0)
        assert here.embedder == EMBEDDER
        assert {WORKSPACE, "other"} <= set(here.workspaces)
        assert here.size_bytes >= 0

    async def test_another_store_answers_every_question_from_now(self, store: MemoryStore, other: MemoryStore) -> None:
        """Earlier calls and their answers have no effect."""

        async def answers() -> tuple[Any, ...]:
            memory = await other.get(WORKSPACE, added.memory_id)
            stats = await other.stats(WORKSPACE)
            return memory and memory.deleted_at is None, stats.memories, stats.deleted

        assert (await other.stats(WORKSPACE)).memories == 0
        added = await put(store, sample_memory("same"))
        assert await answers() == (True, 1, 0)
        await delete(store, added.memory_id)
        assert await answers() == (False, 0, 1)
        await purge_deleted(store)
        assert await answers() == (None, 0, 0)

    async def test_a_cancelled_add_leaves_all_or_nothing(self, store: MemoryStore) -> None:
        await put(store, sample_memory("first"))
        adding = [asyncio.create_task(put(store, sample_memory(f"m {n}"))) for n in range(64)]
        await asyncio.sleep(0)
        for task in adding[::2]:
            task.cancel()
        ended = await asyncio.gather(*adding, return_exceptions=True)
        acknowledged = {f"m {n}" for n, one in enumerate(ended) if not isinstance(one, BaseException)}
        assert acknowledged <= set(await searchable(store))
        assert await problems(store) == []

    async def test_a_store_that_works_is_healthy(self, store: MemoryStore) -> None:
        assert await store.health() == []
        await put(store, sample_memory("text"))
        assert await store.health() == []

    async def test_a_store_in_use_is_sound(self, store: MemoryStore) -> None:
        first = await put(store, sample_memory("one", tags=("a", "b"), metadata={"k": 1}))
        await put(store, sample_memory("two", replaces=first.memory_id))
        assert await problems(store) == []


class FileStore(MemoryStore, files.FileStore, Protocol):
    """A store of memories that is a file."""


class FileStoreContract(StoreContract):
    """The contract of a store that is a file."""

    async def test_a_backup_is_a_file_with_something_in_it(self, store: FileStore, tmp_path: Path) -> None:
        target = tmp_path / "backup of the store"
        await put(store, sample_memory("text"))
        await store.backup(target)
        assert target.stat().st_size > 0
        await store.backup(target)
        assert await searchable(store) == ["text"]
