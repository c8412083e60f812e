"""Replacing, deleting, restoring and purging memories: a part of the contract of a memory store."""

from dataclasses import replace

import pytest

from zapomni_core.testing.samples import (
    WORKSPACE,
    delete,
    kept,
    problems,
    purge_deleted,
    put,
    restore,
    sample_memory,
    searchable,
)
from zapomni_core.testing.store_contracts.listing import ListingContract
from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.store import MemoryStore


class ForgettingContract(ListingContract):
    """The contract of a store on replacing, deleting, restoring and purging."""

    async def test_replacing_takes_the_old_one_out_of_the_search_and_links_both(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        new = await put(store, sample_memory("new", replaces=old.memory_id))
        assert await searchable(store) == ["new"]
        assert (await kept(store, old.memory_id)).replaced_by == new.memory_id
        assert (await kept(store, new.memory_id)).replaces == (old.memory_id,)

    async def test_what_was_replaced_is_kept_anew_when_it_comes_again(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        await put(store, sample_memory("new", replaces=old.memory_id))
        again = await put(store, sample_memory("old"))
        assert again.outcome == "stored"
        assert again.memory_id != old.memory_id

    async def test_a_memory_that_is_there_already_can_replace_another(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        there = await put(store, sample_memory("there"))
        added = await put(store, sample_memory("there", replaces=old.memory_id))
        assert (added.outcome, added.memory_id) == ("existing", there.memory_id)
        assert await searchable(store) == ["there"]
        assert (await kept(store, there.memory_id)).replaces == (old.memory_id,)

    async def test_a_correction_that_comes_again_is_there_already(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        correction = sample_memory("new", replaces=old.memory_id)
        first = await put(store, correction)
        second = await put(store, correction)
        assert (second.outcome, second.memory_id) == ("existing", first.memory_id)
        assert await searchable(store) == ["new"]
        assert (await kept(store, first.memory_id)).replaces == (old.memory_id,)
        assert await problems(store) == []

    @pytest.mark.parametrize("is_restored", [False, True], ids=["hidden", "restored"])
    async def test_a_correction_that_was_deleted_and_comes_again_replaces_again(
        self, store: MemoryStore, is_restored: bool
    ) -> None:
        """It does so whether or not the corrected memory was restored in the meantime."""
        old = await put(store, sample_memory("old"))
        correction = sample_memory("new", replaces=old.memory_id)
        first = await put(store, correction)
        await delete(store, first.memory_id)
        if is_restored:
            await restore(store, old.memory_id)
        second = await put(store, correction)
        assert (second.outcome, second.memory_id) == ("restored", first.memory_id)
        assert await searchable(store) == ["new"]
        assert (await kept(store, old.memory_id)).replaced_by == first.memory_id
        assert await problems(store) == []

    async def test_what_another_memory_replaced_cannot_be_replaced_again(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        await put(store, sample_memory("new", replaces=old.memory_id))
        with pytest.raises(MemoryNotFoundError):
            await put(store, sample_memory("newer", replaces=old.memory_id))
        assert await searchable(store) == ["new"]

    async def test_a_memory_can_replace_several(self, store: MemoryStore) -> None:
        old = [(await put(store, sample_memory(text))).memory_id for text in ("a", "b")]
        for each in old:
            new = await put(store, sample_memory("both", replaces=each))
        assert await searchable(store) == ["both"]
        assert (await kept(store, new.memory_id)).replaces == tuple(old)
        assert {(await kept(store, each)).replaced_by for each in old} == {new.memory_id}

    async def test_a_memory_does_not_replace_itself(self, store: MemoryStore) -> None:
        first = await put(store, sample_memory("same"))
        await put(store, sample_memory("same", replaces=first.memory_id))
        assert await searchable(store) == ["same"]

    async def test_only_a_live_memory_can_be_replaced(self, store: MemoryStore) -> None:
        deleted = await put(store, sample_memory("deleted"))
        await delete(store, deleted.memory_id)
        for gone in (deleted.memory_id, "no such id"):
            with pytest.raises(MemoryNotFoundError):
                await put(store, sample_memory("new", replaces=gone))
        assert (await store.stats(WORKSPACE)).memories == 0

    async def test_a_deleted_memory_is_hidden_and_can_be_restored(self, store: MemoryStore) -> None:
        added = await put(store, sample_memory("here"))
        deleted = await delete(store, added.memory_id)
        assert deleted is not None
        assert deleted.deleted_at is not None
        assert await searchable(store) == []
        assert await kept(store, added.memory_id) == deleted
        assert await delete(store, added.memory_id) is None
        restored = await restore(store, added.memory_id)
        assert restored == replace(deleted, deleted_at=None)
        assert await searchable(store) == ["here"]
        assert await restore(store, added.memory_id) is None

    async def test_a_replaced_memory_can_be_deleted_and_comes_back_as_replaced(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        new = await put(store, sample_memory("new", replaces=old.memory_id))
        assert await delete(store, old.memory_id)
        restored = await restore(store, old.memory_id)
        assert restored is not None
        assert (restored.deleted_at, restored.replaced_by) == (None, new.memory_id)
        assert await searchable(store) == ["new"]

    async def test_what_a_deleted_memory_had_replaced_comes_back_when_it_is_restored(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        new = await put(store, sample_memory("new", replaces=old.memory_id))
        assert await restore(store, old.memory_id) is None, "its replacement is there"
        await delete(store, new.memory_id)
        assert await searchable(store) == [], "who deletes a correction does not ask for what was wrong"
        restored = await restore(store, old.memory_id)
        assert restored is not None
        assert (restored.id, restored.replaced_by) == (old.memory_id, None)
        assert await searchable(store) == ["old"]
        again = await restore(store, new.memory_id)
        assert again is not None
        assert again.replaces == ()
        assert await searchable(store) == ["old", "new"]
        assert await problems(store) == []

    async def test_what_was_replaced_and_added_again_comes_back_once(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        new = await put(store, sample_memory("new", replaces=old.memory_id))
        same = await put(store, sample_memory("old"))
        for gone in (new.memory_id, same.memory_id):
            await delete(store, gone)
        restored = await restore(store, old.memory_id)
        assert restored is not None
        assert restored.id == same.memory_id
        assert await searchable(store) == ["old"]
        assert await problems(store) == []

    async def test_what_was_replaced_and_is_there_again_stays_replaced(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        new = await put(store, sample_memory("new", replaces=old.memory_id))
        same = await put(store, sample_memory("old"))
        await delete(store, new.memory_id)
        assert await restore(store, old.memory_id) == await kept(store, same.memory_id)
        assert (await kept(store, old.memory_id)).replaced_by == new.memory_id
        assert await searchable(store) == ["old"]

    async def test_what_a_purged_memory_had_replaced_is_deleted_and_can_be_restored(self, store: MemoryStore) -> None:
        old = await put(store, sample_memory("old"))
        new = await put(store, sample_memory("new", replaces=old.memory_id))
        await delete(store, new.memory_id)
        assert await store.purge(WORKSPACE, [new.memory_id]) == 1
        assert (await kept(store, old.memory_id)).deleted_at is not None
        assert (await store.stats(WORKSPACE)).deleted == 1
        assert await searchable(store) == []
        restored = await restore(store, old.memory_id)
        assert restored is not None
        assert (restored.deleted_at, restored.replaced_by) == (None, None)
        assert await searchable(store) == ["old"]
        assert await problems(store) == []

    async def test_purging_removes_what_is_deleted_and_nothing_else(self, store: MemoryStore) -> None:
        ids = [(await put(store, sample_memory(text))).memory_id for text in ("a", "b", "c", "d")]
        for gone in ids[:3]:
            await delete(store, gone)
        assert await store.purge("other", ids) == 0
        assert await store.purge(WORKSPACE, []) == 0
        assert await store.purge(WORKSPACE, [ids[0], ids[0], ids[3], "x"]) == 1
        assert await store.purge(WORKSPACE, ids) == 2
        assert [await store.get(WORKSPACE, gone) for gone in ids[:3]] == [None] * 3
        assert await restore(store, ids[0]) is None
        assert await searchable(store) == ["d"]
        assert await problems(store) == []

    async def test_what_was_purged_is_kept_anew_when_it_comes_again(self, store: MemoryStore) -> None:
        first = await put(store, sample_memory("same"))
        await delete(store, first.memory_id)
        await purge_deleted(store)
        second = await put(store, sample_memory("same"))
        assert second.outcome == "stored"
        assert second.memory_id != first.memory_id
        assert await searchable(store) == ["same"]
