"""The contract of a memory store as a test class: subclass it, make a store, and pytest does the rest."""

import asyncio
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from zapomni_core.testing.forgetting import ForgettingContract
from zapomni_core.testing.samples import EMBEDDER, WORKSPACE, sample_chunk, sample_memory, sample_vector
from zapomni_core.testing.stores import kept, searchable
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


class MemoryStoreContract(ForgettingContract):
    """What every store of memories must do.

    ```python
    class TestMyStore(MemoryStoreContract):
        async def make_store(self, tmp_path):
            return MyStore(tmp_path / "store")
    ```
    """

    async def test_the_memory_that_another_would_be_the_same_as_is_found(self, store: MemoryStore) -> None:
        """Deleted or not, because adding it again would restore it."""
        added = await store.add(WORKSPACE, sample_memory("Ada likes tea", metadata={"a": 1, "b": [2]}), EMBEDDER)
        assert await store.find_same(WORKSPACE, "Ada likes tea", {"b": [2], "a": 1}) == added.memory_id
        assert await store.find_same(WORKSPACE, "Ada likes tea", {}) is None
        assert await store.find_same(WORKSPACE, "Ada likes tea", {"a": 1, "b": [2]}, "message") is None
        assert await store.find_same("elsewhere", "Ada likes tea", {"a": 1, "b": [2]}) is None
        await store.delete(WORKSPACE, added.memory_id)
        assert await store.find_same(WORKSPACE, "Ada likes tea", {"a": 1, "b": [2]}) == added.memory_id

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
        added = await store.add(WORKSPACE, new, EMBEDDER)
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
        memory = await kept(store, (await store.add(WORKSPACE, new, EMBEDDER)).memory_id)
        (found,) = await store.read(WORKSPACE, lambda snapshot: snapshot.found(snapshot.sample(1)))
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
            await store.add(WORKSPACE, new, EMBEDDER)
        assert (await store.stats(WORKSPACE)).memories == 0
        assert await store.check() == []

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
        added = await store.add(WORKSPACE, sample_memory("text", metadata=metadata), EMBEDDER)
        came_back = (await kept(store, added.memory_id)).metadata
        assert repr(dict(came_back)) == repr(metadata)

    async def test_what_a_caller_changes_afterwards_changes_no_memory(self, store: MemoryStore) -> None:
        metadata: dict[str, Any] = {"list": [1]}
        added = await store.add(WORKSPACE, sample_memory("text", metadata=metadata), EMBEDDER)
        metadata["list"].append(2)
        assert (await kept(store, added.memory_id)).metadata == {"list": [1]}

    async def test_a_chunk_outside_its_text_is_refused(self, store: MemoryStore) -> None:
        with pytest.raises(InvalidInputError, match="chunk"):
            await store.add(WORKSPACE, sample_memory("text", replace(sample_chunk("text"), end=5)), EMBEDDER)

    async def test_an_id_that_nobody_has_is_nothing(self, store: MemoryStore) -> None:
        for unknown in ("", "no such id", "\0", LONE_SURROGATE, "' OR 1=1 --"):
            assert await store.get(WORKSPACE, unknown) is None
            assert await store.delete(WORKSPACE, unknown) is None
            assert await store.restore(WORKSPACE, unknown) is None

    async def test_workspaces_see_nothing_of_each_other(self, store: MemoryStore) -> None:
        mine = await store.add("mine", sample_memory("secret"), EMBEDDER)
        assert await store.get("yours", mine.memory_id) is None
        assert await store.delete("yours", mine.memory_id) is None
        assert await searchable(store, "yours") == []
        with pytest.raises(MemoryNotFoundError):
            await store.add("yours", sample_memory("new", replaces=mine.memory_id), EMBEDDER)
        assert await searchable(store, "mine") == ["secret"]
        await store.delete("mine", mine.memory_id)
        assert await store.restore("yours", mine.memory_id) is None
        assert await searchable(store, "mine") == []
        assert (await store.add("yours", sample_memory("secret"), EMBEDDER)).outcome == "stored"
        with pytest.raises(MemoryNotFoundError):
            await store.add("yours", sample_memory("new", replaces=mine.memory_id), EMBEDDER)

    async def test_what_was_kept_is_there_after_closing(self, store: MemoryStore, tmp_path: Path) -> None:
        added = await store.add(WORKSPACE, sample_memory("still here"), EMBEDDER)
        await store.close()
        await store.close()
        again = await self.make_store(tmp_path)
        try:
            assert (await kept(again, added.memory_id)).text == "still here"
            assert await searchable(again) == ["still here"]
        finally:
            await again.close()

    async def test_equal_memories_are_kept_once(self, store: MemoryStore) -> None:
        first = await store.add(WORKSPACE, sample_memory("same", metadata={"a": 1, "b": 2}), EMBEDDER)
        second = await store.add(WORKSPACE, sample_memory("same", metadata={"b": 2, "a": 1}), EMBEDDER)
        assert (second.outcome, second.memory_id, second.chunks) == ("existing", first.memory_id, 1)
        assert await searchable(store) == ["same"]

    async def test_memories_that_differ_in_anything_are_each_kept(self, store: MemoryStore) -> None:
        for new in (
            sample_memory("same"),
            sample_memory("Same"),
            sample_memory("same", metadata={"a": 1}),
            sample_memory("same", metadata={"a": True}),
            sample_memory("same", kind="fact"),
            sample_memory("same", merge=False),
            sample_memory("same", merge=False),
        ):
            assert (await store.add(WORKSPACE, new, EMBEDDER)).outcome == "stored"
        assert len(await searchable(store)) == 7

    async def test_equal_memories_that_come_at_once_are_kept_once(self, store: MemoryStore, other: MemoryStore) -> None:
        adding = [where.add(WORKSPACE, sample_memory("same"), EMBEDDER) for where in [store, other] * 8]
        added = await asyncio.gather(*adding)
        assert len({one.memory_id for one in added}) == 1
        assert sorted(one.outcome for one in added) == ["existing"] * 15 + ["stored"]

    async def test_an_equal_memory_that_was_deleted_is_restored(self, store: MemoryStore) -> None:
        first = await store.add(WORKSPACE, sample_memory("same"), EMBEDDER)
        await store.delete(WORKSPACE, first.memory_id)
        second = await store.add(WORKSPACE, sample_memory("same"), EMBEDDER)
        assert (second.outcome, second.memory_id) == ("restored", first.memory_id)
        assert await searchable(store) == ["same"]

    async def test_the_first_memory_settles_the_embedder(self, store: MemoryStore, other: MemoryStore) -> None:
        with pytest.raises(MemoryNotFoundError):
            await store.add(WORKSPACE, sample_memory("refused", replaces="no such id"), EMBEDDER)
        assert await store.embedder() is None
        await store.add(WORKSPACE, sample_memory("first"), EMBEDDER)
        assert await other.embedder() == EMBEDDER
        with pytest.raises(EmbedderMismatchError, match=r"samples.*another"):
            await other.add("elsewhere", sample_memory("second"), replace(EMBEDDER, name="another"))

    async def test_a_vector_of_another_dimension_is_refused(self, store: MemoryStore) -> None:
        chunk = replace(sample_chunk("text"), vector=sample_vector("text", 8))
        with pytest.raises(InvalidInputError, match="vector"):
            await store.add(WORKSPACE, sample_memory("text", chunk), EMBEDDER)

    async def test_statistics_count_what_there_is(self, store: MemoryStore) -> None:
        empty = await store.stats(WORKSPACE)
        assert (empty.memories, empty.chunks, empty.deleted, empty.superseded) == (0, 0, 0, 0)
        old = await store.add(
            WORKSPACE, sample_memory("a b", sample_chunk("a b", 0, 1), sample_chunk("a b", 2)), EMBEDDER
        )
        await store.add(WORKSPACE, sample_memory("c d", sample_chunk("c d", 0, 1), sample_chunk("c d", 2)), EMBEDDER)
        await store.add(WORKSPACE, sample_memory("e", replaces=old.memory_id), EMBEDDER)
        gone = await store.add("other", sample_memory("f"), EMBEDDER)
        await store.delete("other", gone.memory_id)
        here, there = await store.stats(WORKSPACE), await store.stats("other")
        assert (here.memories, here.chunks, here.deleted, here.superseded) == (2, 3, 0, 1)
        assert (there.memories, there.chunks, there.deleted, there.superseded) == (0, 0, 1, 0)
        await store.delete(WORKSPACE, old.memory_id)
        both = await store.stats(WORKSPACE)
        assert (both.memories, both.chunks, both.deleted, both.superseded) == (2, 3, 1, 0)
        assert here.embedder == EMBEDDER
        assert {WORKSPACE, "other"} <= set(here.workspaces)
        assert here.size_bytes > 0

    async def test_another_store_answers_every_question_from_now(self, store: MemoryStore, other: MemoryStore) -> None:
        """What it was asked before, and what it answered then, changes nothing."""

        async def told() -> tuple[Any, ...]:
            memory = await other.get(WORKSPACE, (await other.find_same(WORKSPACE, "same", {})) or added.memory_id)
            stats = await other.stats(WORKSPACE)
            return memory and memory.deleted_at is None, stats.memories, stats.deleted

        assert await other.find_same(WORKSPACE, "same", {}) is None
        assert (await other.stats(WORKSPACE)).memories == 0
        added = await store.add(WORKSPACE, sample_memory("same"), EMBEDDER)
        assert await other.find_same(WORKSPACE, "same", {}) == added.memory_id
        assert await told() == (True, 1, 0)
        await store.delete(WORKSPACE, added.memory_id)
        assert await told() == (False, 0, 1)
        await store.purge(WORKSPACE, deleted_before=math.inf)
        assert await told() == (None, 0, 0)
        assert await other.find_same(WORKSPACE, "same", {}) is None

    async def test_a_cancelled_add_leaves_all_or_nothing(self, store: MemoryStore) -> None:
        await store.add(WORKSPACE, sample_memory("first"), EMBEDDER)
        adding = [asyncio.create_task(store.add(WORKSPACE, sample_memory(f"m {n}"), EMBEDDER)) for n in range(64)]
        await asyncio.sleep(0)
        for task in adding[::2]:
            task.cancel()
        ended = await asyncio.gather(*adding, return_exceptions=True)
        acknowledged = {f"m {n}" for n, one in enumerate(ended) if not isinstance(one, BaseException)}
        assert acknowledged <= set(await searchable(store))
        assert await store.check() == []

    async def test_a_store_that_works_is_healthy(self, store: MemoryStore) -> None:
        assert await store.health() == []
        await store.add(WORKSPACE, sample_memory("text"), EMBEDDER)
        assert await store.health() == []

    async def test_a_backup_is_a_file_with_something_in_it(self, store: MemoryStore, tmp_path: Path) -> None:
        target = tmp_path / "backup of the store"
        await store.add(WORKSPACE, sample_memory("text"), EMBEDDER)
        await store.backup(target)
        assert target.stat().st_size > 0
        await store.backup(target)
        assert await searchable(store) == ["text"]

    async def test_a_store_in_use_is_sound(self, store: MemoryStore) -> None:
        first = await store.add(WORKSPACE, sample_memory("one", tags=("a", "b"), metadata={"k": 1}), EMBEDDER)
        await store.add(WORKSPACE, sample_memory("two", replaces=first.memory_id), EMBEDDER)
        assert await store.check() == []
