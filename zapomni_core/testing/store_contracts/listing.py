"""The contract of listing memories, changing their metadata, and their history: a part of that of a memory store."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from zapomni_core.testing.samples import WORKSPACE, add, ask, delete, kept, put, restore, sample_memory
from zapomni_core.testing.store_contracts.search import SearchContract
from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import Change
from zapomni_db.store import MemoryStore

DAY = datetime(2023, 5, 8, tzinfo=UTC)


class ListingContract(SearchContract):
    """The contract of a store on listing memories."""

    @pytest.mark.parametrize(
        ("order", "expected"), [("newest", "acebd"), ("oldest", "dbeca"), ("inserted", "dabce")], ids=str
    )
    async def test_memories_are_listed_in_an_order_page_by_page(
        self, store: MemoryStore, order: Any, expected: str
    ) -> None:
        for text, day in {"d": 1, "a": 5, "b": 2, "c": 4, "e": 3}.items():
            await add(store, text, timestamp=DAY + timedelta(days=day))
        await add(store, "x", "elsewhere")
        for limit in (1, 2, 5, 100):
            assert await listed(store, order=order, limit=limit) == expected

    async def test_equal_moments_are_listed_by_insertion(self, store: MemoryStore) -> None:
        for text in "abc":
            await add(store, text, timestamp=DAY)
        assert await listed(store, order="newest", limit=1) == "cba"
        assert await listed(store, order="oldest", limit=1) == "abc"

    async def test_every_memory_is_listed_once_while_others_are_added(self, store: MemoryStore) -> None:
        for number in range(4):
            await add(store, str(number), timestamp=DAY + timedelta(days=number))
        first = await store.list_memories(WORKSPACE, limit=2)
        await add(store, "newer", timestamp=DAY + timedelta(days=9))
        second = await store.list_memories(WORKSPACE, limit=2, after=first.after)
        assert [one.text for one in [*first.memories, *second.memories]] == ["3", "2", "1", "0"]
        assert second.after == ""

    async def test_listed_memories_are_whole(self, store: MemoryStore) -> None:
        memory_id = await add(store, "text", tags=("t",), metadata={"tags": ["t"], "n": 1}, author="Ada", timestamp=DAY)
        page = await store.list_memories(WORKSPACE)
        assert page.memories == [await kept(store, memory_id)]

    async def test_memories_are_listed_by_state(self, store: MemoryStore) -> None:
        ids = {text: await add(store, text) for text in "abc"}
        await add(store, "d", replaces=ids["b"])
        await delete(store, ids["c"])
        states = {"live": "ad", "deleted": "c", "replaced": "b", "all": "abcd"}
        for state, expected in states.items():
            assert await listed(store, state=state, order="inserted") == expected, state

    async def test_lists_are_narrowed_by_every_filter(self, store: MemoryStore) -> None:
        await add(store, "a", tags=("x", "y"), source="s", timestamp=DAY, metadata={"n": 1, "o": {"k": 1, "l": [2]}})
        await add(store, "b", tags=("x",), kind="fact", author="Ada", conversation="c", metadata={"n": [1, 2]})
        asked = [
            (Filter(tags=("x",)), "ab"),
            (Filter(tags=("x", "y")), "a"),
            (Filter(sources=("s",)), "a"),
            (Filter(kinds=("fact",), authors=("Ada",), conversations=("c",)), "b"),
            (Filter(date_to=DAY), "a"),
            (Filter(date_from=DAY + timedelta(seconds=1)), "b"),
            (Filter(metadata={"n": (1,)}), "ab"),
            (Filter(metadata={"n": (2, 3)}), "b"),
            (Filter(created_from=DAY), "ab"),
            (Filter(created_to=DAY), ""),
        ]
        for wanted, expected in asked:
            assert await listed(store, wanted, order="inserted", limit=1) == expected, wanted

    async def test_a_page_that_nobody_was_given_is_refused(self, store: MemoryStore) -> None:
        for after in ("nonsense", "1.2.3", "--5.1", "9" * 30 + ".1", "' OR 1=1"):
            with pytest.raises(InvalidInputError, match="after"):
                await store.list_memories(WORKSPACE, after=after)

    async def test_metadata_is_changed_in_place(self, store: MemoryStore, other: MemoryStore) -> None:
        memory_id = await add(
            store, "tea", tags=("old",), source="s", metadata={"tags": ["old"], "source": "s", "n": 1}
        )
        change = Change(metadata={"tags": ["new"], "source": "t", "n": 2}, tags=("new",), source="t")
        changed = await store.change(WORKSPACE, memory_id, change)
        assert changed == await kept(other, memory_id)
        assert (changed.text, changed.tags, changed.source) == ("tea", ("new",), "t")
        assert changed.metadata == {"tags": ["new"], "source": "t", "n": 2}
        for gone in (Filter(tags=("old",)), Filter(sources=("s",)), Filter(metadata={"n": (1,)})):
            assert await listed(other, gone) == ""
        found = Filter(tags=("new",), sources=("t",), metadata={"n": (2,)})
        assert await listed(other, found) == "tea"
        proposed = await ask(other, "tea", wanted=found)
        assert [(one.memory_id, one.meets) for one in proposed.found] == [(memory_id, True)]

    async def test_metadata_that_changed_meanwhile_are_left_alone(self, store: MemoryStore) -> None:
        memory_id = await add(store, "tea", metadata={"n": 1})
        change = Change(metadata={"n": 3}, instead_of={"n": 2})
        assert await store.change(WORKSPACE, memory_id, change) is None
        assert (await kept(store, memory_id)).metadata == {"n": 1}
        assert await store.history(WORKSPACE, memory_id) == (await store.history(WORKSPACE, memory_id))[:1]

    async def test_an_unknown_memory_is_not_changed(self, store: MemoryStore) -> None:
        for unknown in ("", "no such id", "\0"):
            assert await store.change(WORKSPACE, unknown, Change(metadata={"n": 1})) is None
            assert list(await store.history(WORKSPACE, unknown)) == []

    async def test_the_history_of_a_memory_says_what_happened_when_and_by_whom(self, store: MemoryStore) -> None:
        before = datetime.now(UTC) - timedelta(minutes=1)
        added = await put(store, sample_memory("old", by="codex"))
        await store.change(WORKSPACE, added.memory_id, Change(metadata={"n": 1}), by="zapomni edit")
        await store.change(WORKSPACE, added.memory_id, Change(deleted=True), by="claude-code")
        assert await restore(store, added.memory_id)
        await put(store, sample_memory("new", replaces=added.memory_id, by="cursor"))
        events = await store.history(WORKSPACE, added.memory_id)
        assert [(one.what, one.by) for one in events] == [
            ("added", "codex"),
            ("changed", "zapomni edit"),
            ("deleted", "claude-code"),
            ("restored", ""),
            ("replaced", "cursor"),
        ]
        assert [one.at for one in events] == sorted(one.at for one in events)
        assert before < events[0].at
        assert list(await store.history("elsewhere", added.memory_id)) == []


async def listed(store: MemoryStore, wanted: Filter = NO_FILTER, **asked: Any) -> str:
    """The texts of all pages, one after the other."""
    page = await store.list_memories(WORKSPACE, wanted, **asked)
    texts = [one.text for one in page.memories]
    while page.after:
        page = await store.list_memories(WORKSPACE, wanted, after=page.after, **asked)
        assert page.memories, "a page that says that there is more is followed by one that has more"
        texts += [one.text for one in page.memories]
    return "".join(texts)
