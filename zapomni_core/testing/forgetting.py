"""What becomes of memories that are replaced, deleted, restored and purged: a part of the contract of a memory store."""

import math
import time
from dataclasses import replace

import pytest

from zapomni_core.testing.samples import EMBEDDER, WORKSPACE, sample_memory
from zapomni_core.testing.search import SearchContract
from zapomni_core.testing.stores import kept, searchable
from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.store import MemoryStore


class ForgettingContract(SearchContract):
    """Nothing is lost but what was purged."""

    async def test_replacing_takes_the_old_one_out_of_the_search_and_links_both(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        new = await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        assert await searchable(store) == ["new"]
        assert (await kept(store, old.memory_id)).replaced_by == new.memory_id
        assert (await kept(store, new.memory_id)).replaces == (old.memory_id,)

    async def test_what_was_replaced_is_kept_anew_when_it_comes_again(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        again = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        assert again.outcome == "stored"
        assert again.memory_id != old.memory_id

    async def test_a_memory_that_is_there_already_can_replace_another(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        there = await store.add(WORKSPACE, sample_memory("there"), EMBEDDER)
        added = await store.add(WORKSPACE, sample_memory("there", replaces=old.memory_id), EMBEDDER)
        assert (added.outcome, added.memory_id) == ("existing", there.memory_id)
        assert await searchable(store) == ["there"]
        assert (await kept(store, there.memory_id)).replaces == (old.memory_id,)

    async def test_a_correction_that_comes_again_is_there_already(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        correction = sample_memory("new", replaces=old.memory_id)
        first = await store.add(WORKSPACE, correction, EMBEDDER)
        second = await store.add(WORKSPACE, correction, EMBEDDER)
        assert (second.outcome, second.memory_id) == ("existing", first.memory_id)
        assert await searchable(store) == ["new"]
        assert (await kept(store, first.memory_id)).replaces == (old.memory_id,)
        assert await store.check() == []

    @pytest.mark.parametrize("is_restored", [False, True], ids=["hidden", "restored"])
    async def test_a_correction_that_was_deleted_and_comes_again_replaces_again(
        self, store: MemoryStore, is_restored: bool
    ) -> None:
        """Whether or not what it corrected was brought back in the meantime."""
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        correction = sample_memory("new", replaces=old.memory_id)
        first = await store.add(WORKSPACE, correction, EMBEDDER)
        await store.delete(WORKSPACE, first.memory_id)
        if is_restored:
            await store.restore(WORKSPACE, old.memory_id)
        second = await store.add(WORKSPACE, correction, EMBEDDER)
        assert (second.outcome, second.memory_id) == ("restored", first.memory_id)
        assert await searchable(store) == ["new"]
        assert (await kept(store, old.memory_id)).replaced_by == first.memory_id
        assert await store.check() == []

    async def test_what_another_memory_replaced_cannot_be_replaced_again(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        with pytest.raises(MemoryNotFoundError):
            await store.add(WORKSPACE, sample_memory("newer", replaces=old.memory_id), EMBEDDER)
        assert await searchable(store) == ["new"]

    async def test_a_memory_can_replace_several(self, store: MemoryStore) -> None:
        old = [(await store.add(WORKSPACE, sample_memory(text), EMBEDDER)).memory_id for text in ("a", "b")]
        for each in old:
            new = await store.add(WORKSPACE, sample_memory("both", replaces=each), EMBEDDER)
        assert await searchable(store) == ["both"]
        assert (await kept(store, new.memory_id)).replaces == tuple(old)
        assert {(await kept(store, each)).replaced_by for each in old} == {new.memory_id}

    async def test_a_memory_does_not_replace_itself(self, store: MemoryStore) -> None:
        first = await store.add(WORKSPACE, sample_memory("same"), EMBEDDER)
        await store.add(WORKSPACE, sample_memory("same", replaces=first.memory_id), EMBEDDER)
        assert await searchable(store) == ["same"]

    async def test_only_a_live_memory_can_be_replaced(self, store: MemoryStore) -> None:
        deleted = await store.add(WORKSPACE, sample_memory("deleted"), EMBEDDER)
        await store.delete(WORKSPACE, deleted.memory_id)
        for gone in (deleted.memory_id, "no such id"):
            with pytest.raises(MemoryNotFoundError):
                await store.add(WORKSPACE, sample_memory("new", replaces=gone), EMBEDDER)
        assert (await store.stats(WORKSPACE)).memories == 0

    async def test_a_deleted_memory_is_hidden_and_can_be_restored(self, store: MemoryStore) -> None:
        added = await store.add(WORKSPACE, sample_memory("here"), EMBEDDER)
        deleted = await store.delete(WORKSPACE, added.memory_id)
        assert deleted is not None
        assert deleted.deleted_at is not None
        assert await searchable(store) == []
        assert await kept(store, added.memory_id) == deleted
        assert await store.delete(WORKSPACE, added.memory_id) is None
        restored = await store.restore(WORKSPACE, added.memory_id)
        assert restored == replace(deleted, deleted_at=None)
        assert await searchable(store) == ["here"]
        assert await store.restore(WORKSPACE, added.memory_id) is None

    async def test_a_replaced_memory_can_be_deleted_and_comes_back_as_replaced(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        new = await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        assert await store.delete(WORKSPACE, old.memory_id)
        restored = await store.restore(WORKSPACE, old.memory_id)
        assert restored is not None
        assert (restored.deleted_at, restored.replaced_by) == (None, new.memory_id)
        assert await searchable(store) == ["new"]

    async def test_what_a_deleted_memory_had_replaced_comes_back_when_it_is_restored(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        new = await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        assert await store.restore(WORKSPACE, old.memory_id) is None, "its replacement is there"
        await store.delete(WORKSPACE, new.memory_id)
        assert await searchable(store) == [], "who deletes a correction does not ask for what was wrong"
        restored = await store.restore(WORKSPACE, old.memory_id)
        assert restored is not None
        assert (restored.id, restored.replaced_by) == (old.memory_id, None)
        assert await searchable(store) == ["old"]
        again = await store.restore(WORKSPACE, new.memory_id)
        assert again is not None
        assert again.replaces == ()
        assert await searchable(store) == ["old", "new"]
        assert await store.check() == []

    async def test_what_was_replaced_and_added_again_comes_back_once(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        new = await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        same = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        for gone in (new.memory_id, same.memory_id):
            await store.delete(WORKSPACE, gone)
        restored = await store.restore(WORKSPACE, old.memory_id)
        assert restored is not None
        assert restored.id == same.memory_id
        assert await searchable(store) == ["old"]
        assert await store.check() == []

    async def test_what_was_replaced_and_is_there_again_stays_replaced(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        new = await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        same = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        await store.delete(WORKSPACE, new.memory_id)
        assert await store.restore(WORKSPACE, old.memory_id) == await kept(store, same.memory_id)
        assert (await kept(store, old.memory_id)).replaced_by == new.memory_id
        assert await searchable(store) == ["old"]

    async def test_what_a_purged_memory_had_replaced_is_deleted_and_can_be_restored(self, store: MemoryStore) -> None:
        old = await store.add(WORKSPACE, sample_memory("old"), EMBEDDER)
        new = await store.add(WORKSPACE, sample_memory("new", replaces=old.memory_id), EMBEDDER)
        await store.delete(WORKSPACE, new.memory_id)
        assert await store.purge(WORKSPACE, deleted_before=math.inf, memory_ids=[new.memory_id]) == 1
        assert (await kept(store, old.memory_id)).deleted_at is not None
        assert (await store.stats(WORKSPACE)).deleted == 1
        assert await searchable(store) == []
        restored = await store.restore(WORKSPACE, old.memory_id)
        assert restored is not None
        assert (restored.deleted_at, restored.replaced_by) == (None, None)
        assert await searchable(store) == ["old"]
        assert await store.check() == []

    async def test_purging_removes_what_was_deleted_before_and_nothing_else(self, store: MemoryStore) -> None:
        ids = [(await store.add(WORKSPACE, sample_memory(text), EMBEDDER)).memory_id for text in ("a", "b", "c", "d")]
        for gone in ids[:3]:
            await store.delete(WORKSPACE, gone)
        assert await store.purge(WORKSPACE, deleted_before=0) == 0
        assert await store.purge(WORKSPACE, deleted_before=0, memory_ids=ids) == 0
        assert await store.purge("other", deleted_before=time.time() + 1) == 0
        assert await store.purge(WORKSPACE, deleted_before=time.time() + 1, memory_ids=[]) == 0
        assert await store.purge(WORKSPACE, deleted_before=time.time() + 1, memory_ids=[ids[0], ids[3], "x"]) == 1
        assert await store.purge(WORKSPACE, deleted_before=math.inf) == 2
        assert [await store.get(WORKSPACE, gone) for gone in ids[:3]] == [None] * 3
        assert await store.restore(WORKSPACE, ids[0]) is None
        assert await searchable(store) == ["d"]
        assert await store.check() == []

    async def test_what_was_purged_is_kept_anew_when_it_comes_again(self, store: MemoryStore) -> None:
        first = await store.add(WORKSPACE, sample_memory("same"), EMBEDDER)
        await store.delete(WORKSPACE, first.memory_id)
        await store.purge(WORKSPACE, deleted_before=time.time() + 1)
        second = await store.add(WORKSPACE, sample_memory("same"), EMBEDDER)
        assert second.outcome == "stored"
        assert second.memory_id != first.memory_id
        assert await searchable(store) == ["same"]
