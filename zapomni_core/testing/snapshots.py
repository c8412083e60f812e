"""The contract of a store's snapshots: what a search sees of a workspace."""

# ruff: noqa: RUF001 - strange letters are the point

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from zapomni_core.testing.samples import EMBEDDER, WORKSPACE, sample_chunk, sample_memory, sample_vector
from zapomni_core.testing.stores import StoreContract, add, searchable
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.filters import Filter, Scalar
from zapomni_db.store import MemoryStore, Snapshot

ANY_TERMS = (
    *(
        "word",
        "snake_case",
        "a@b.c",
        '"quoted"',
        "it's",
        "数据",
        "据库",
        "слово",
        "ς",
        "ß",
        "Ꭰ",
        "e\u0301",
        "\ue000",
        "_",
        "-",
    ),
    *(
        "👨‍👩‍👧",
        "🫨",
        "🇺🇦",
        "*",
        "(",
        ")",
        "AND",
        "Upper",
        "a" * 40_000,
        "a" * 40_001,
        "nul\0",
        "\x7f",
        "no\u00a0break",
        "two words",
    ),
)
HOSTILE = ("' OR 1=1 --", '"', "%", "$.a", "a.b", "[0]", "\0", "ключ", "x" * 10_000)
DAY = datetime(2023, 5, 8, tzinfo=UTC)


class SnapshotContract(StoreContract):
    """What every snapshot must show."""

    async def test_an_empty_workspace_is_empty_arrays(self, store: MemoryStore) -> None:
        def look(snapshot: Snapshot) -> None:
            assert (snapshot.chunks, snapshot.memories, snapshot.embedder) == (0, 0, None)
            assert [len(each) for each in (snapshot.lengths, snapshot.places, snapshot.moments)] == [0, 0, 0]
            assert snapshot.neighbours.shape == (0, 4)
            assert [len(each) for each in snapshot.postings(["word"])["word"]] == [0, 0]
            assert snapshot.postings([]) == {}
            assert len(snapshot.mask(Filter(tags=("a",)))) == 0
            rows = snapshot.nearest(sample_vector("word"), 10)
            assert (len(rows), len(snapshot.cosines(rows, sample_vector("word")))) == (0, 0)
            assert (len(snapshot.sample(10)), snapshot.found(rows)) == (0, [])
            assert (snapshot.authors(rows), snapshot.identifiers(rows)) == ([], [])

        await store.read("nobody's", look)

    async def test_rows_and_places_come_in_the_order_of_insertion(self, store: MemoryStore) -> None:
        text = "one two three four"
        parts = (sample_chunk(text, 0, 7), sample_chunk(text, 8, 13), sample_chunk(text, 14))
        added = await store.add(WORKSPACE, sample_memory(text, *parts), EMBEDDER)
        second = await add(store, "five", timestamp=DAY)

        def look(snapshot: Snapshot) -> None:
            assert (snapshot.chunks, snapshot.memories, snapshot.embedder) == (4, 2, EMBEDDER)
            assert snapshot.places.tolist() == [0, 0, 0, 1]
            assert snapshot.lengths.tolist() == [2, 1, 1, 1]
            assert snapshot.moments[1] == DAY.timestamp() * 1_000_000
            assert snapshot.identifiers(snapshot.places) == [added.memory_id] * 3 + [second]
            assert snapshot.identifiers(np.array([1, 0, 1])) == [second, added.memory_id, second]
            found = snapshot.found(np.array([3, 0, 2]))
            assert [one.text for one in found] == ["five", "one two", "four"]
            assert [(one.start, one.end) for one in found] == [(0, 4), (0, 7), (14, 18)]

        await store.read(WORKSPACE, look)

    async def test_a_chunk_is_cut_by_characters_out_of_a_long_text(self, store: MemoryStore) -> None:
        text = "é数🫨x" * 50_000
        start = 4 * 33_333 + 1
        chunk = sample_chunk(text, start, start + 5, terms=("t",))
        await store.add(WORKSPACE, sample_memory(text, chunk), EMBEDDER)
        assert await searchable(store) == ["数🫨xé数"]

    async def test_any_term_is_found_as_exactly_what_it_is(self, store: MemoryStore) -> None:
        for term in ANY_TERMS:
            await store.add(WORKSPACE, sample_memory(term, sample_chunk(term, terms=(term, "x", term))), EMBEDDER)
        await store.add(WORKSPACE, sample_memory("all", sample_chunk("all", terms=ANY_TERMS)), EMBEDDER)

        def look(snapshot: Snapshot) -> None:
            for row, (term, (rows, counts)) in enumerate(snapshot.postings(ANY_TERMS).items()):
                assert rows.tolist() == [row, len(ANY_TERMS)], term[:20]
                assert counts.tolist() == [2, 1], term[:20]
            absent = ("two", "words", "upper", "and", "snake", "case", "quoted", "a" * 200, "", "\ud800")
            assert [len(rows) for rows, _ in snapshot.postings(absent).values()] == [0] * len(absent)

        await store.read(WORKSPACE, look)

    async def test_postings_know_live_chunks_of_the_workspace_only(self, store: MemoryStore) -> None:
        await add(store, "tea", workspace="other")
        gone, old, _ = await add(store, "tea a"), await add(store, "tea b"), await add(store, "tea c")
        await store.delete(WORKSPACE, gone)
        await add(store, "tea d", replaces=old)
        rows, counts = await store.read(WORKSPACE, lambda snapshot: snapshot.postings(["tea"])["tea"])
        assert (rows.tolist(), counts.tolist()) == ([0, 1], [1, 1])

    async def test_each_part_of_a_filter_narrows(self, store: MemoryStore) -> None:
        await add(store, "a", kind="fact", tags=("x", "y"), source="s", author="Ada", conversation="c", timestamp=DAY)
        await add(store, "b", tags=("x",), source="t", metadata={"n": 1})
        await add(store, "c", metadata={"n": 1, "s": "v"})
        asked: list[tuple[dict[str, Any], str]] = [
            ({}, "abc"),
            ({"tags": ("x",)}, "ab"),
            ({"tags": ("x", "y")}, "a"),
            ({"tags": ("X",)}, ""),
            ({"sources": ("s", "t")}, "ab"),
            ({"kinds": ("fact",)}, "a"),
            ({"kinds": ("memory",)}, "bc"),
            ({"authors": ("Ada",)}, "a"),
            ({"conversations": ("c", "d")}, "a"),
            ({"tags": ("x",), "sources": ("t",)}, "b"),
            ({"date_to": DAY}, "a"),
            ({"date_from": DAY}, "abc"),
            ({"date_from": DAY + timedelta(microseconds=1)}, "bc"),
            ({"metadata": {"n": (1,)}}, "bc"),
            ({"metadata": {"n": (1,), "s": ("v",)}}, "c"),
        ]
        await self._narrow(store, asked)

    async def test_a_nested_object_is_found_by_each_object_that_it_contains(self, store: MemoryStore) -> None:
        await add(store, "a", metadata={"o": {"b": 1, "c": {"d": ["x", "y"], "e": None}}, "b": 2})
        await add(store, "b", metadata={"o": {"b": 1}})
        await add(store, "c", metadata={"o": 1, "b": 1, "d": "x"})
        asked: list[tuple[Any, str]] = [
            ({"o": {"b": (1,)}}, "ab"),
            ({"o": {"b": (1,), "c": {"d": ("y",)}}}, "a"),
            ({"o": {"c": {"d": ("z", "x"), "e": (None,)}}, "b": (2,)}, "a"),
            ({"o": {"c": {"d": ("z",)}}}, ""),
            ({"o": {"d": ("x",)}}, ""),
            ({"o": (1,)}, "c"),
        ]
        await self._narrow(store, [({"metadata": values}, expected) for values, expected in asked])

    async def test_metadata_is_asked_for_by_equal_values_and_a_list_by_each_of_its_values(
        self, store: MemoryStore
    ) -> None:
        await add(store, "a", metadata={"n": 1, "b": True, "z": None, "f": 0.5, "l": ["v", 2, ["w"]]})
        await add(store, "b", metadata={"n": 1.0, "b": 1, "f": "0.5", "l": "v"})
        asked: list[tuple[dict[str, tuple[Scalar, ...]], str]] = [
            ({"n": (1,)}, "ab"),
            ({"n": (1.0,)}, "ab"),
            ({"b": (True,)}, "a"),
            ({"b": (1,)}, "b"),
            ({"z": (None,)}, "a"),
            ({"f": (0.5,)}, "a"),
            ({"f": (0.5, "0.5")}, "ab"),
            ({"l": ("v",)}, "ab"),
            ({"l": (3, 2.0)}, "a"),
            ({"l": ("w", "vw", None)}, ""),
            ({"absent": (None,)}, ""),
        ]
        await self._narrow(store, [({"metadata": values}, expected) for values, expected in asked])

    async def _narrow(self, store: MemoryStore, asked: Sequence[tuple[dict[str, Any], str]]) -> None:
        """Each filter leaves the memories of these texts."""

        def look(snapshot: Snapshot) -> None:
            for parts, expected in asked:
                found = snapshot.found(np.flatnonzero(snapshot.mask(Filter(**parts))))
                assert "".join(one.text for one in found) == expected, parts

        await store.read(WORKSPACE, look)

    async def test_nothing_in_a_filter_is_syntax(self, store: MemoryStore) -> None:
        for text in HOSTILE:
            await add(store, text, tags=(text,), source=text, author=text, conversation=text, metadata={text: text})
        await add(store, "innocent")

        def look(snapshot: Snapshot) -> None:
            for row, text in enumerate(HOSTILE):
                parts: dict[str, Any] = dict.fromkeys(("tags", "sources", "authors", "conversations"), (text,))
                mask = snapshot.mask(Filter(**parts, metadata={text: (text,)}))
                assert np.flatnonzero(mask).tolist() == [row], text[:20]

        await store.read(WORKSPACE, look)

    async def test_the_nearest_are_the_nearest(self, store: MemoryStore) -> None:
        for number in range(60):
            tags = (f"t{number % 2}", *(["far"] if number in (2, 58) else []))
            await add(store, f"w{number} w{number + 1} w{number + 2}", tags=tags)
        wanted = sample_vector("w30 w31 w32")

        def look(snapshot: Snapshot) -> None:
            rows = snapshot.nearest(wanted, 10)
            assert len(set(rows.tolist())) == len(rows) >= 10
            assert 30 in rows
            odd = snapshot.mask(Filter(tags=("t1",)))
            assert set(snapshot.nearest(wanted, 60, odd).tolist()) == set(np.flatnonzero(odd).tolist())
            assert odd[snapshot.nearest(wanted, 5, odd)].all()
            assert {29, 31} <= set(snapshot.nearest(wanted, 5, odd).tolist())
            far = snapshot.mask(Filter(tags=("far",)))
            assert snapshot.nearest(wanted, 2, far).tolist() == [2, 58], "the mask applies before the cut"
            assert len(snapshot.nearest(wanted, 5, np.zeros(60, np.bool_))) == 0
            assert snapshot.nearest(wanted, 1000).tolist() == list(range(60))

        await store.read(WORKSPACE, look)

    async def test_cosines_are_exact(self, store: MemoryStore) -> None:
        texts = [f"word{number} common" for number in range(20)]
        for text in texts:
            await add(store, text)
        wanted = sample_vector("word3 common")
        rows = np.array([7, 3, 3, 0, 19])
        cosines = await store.read(WORKSPACE, lambda snapshot: snapshot.cosines(rows, wanted))
        assert cosines == pytest.approx([sample_vector(texts[row]) @ wanted for row in rows], abs=2e-3)

    async def test_a_question_by_another_embedder_is_refused(self, store: MemoryStore) -> None:
        await add(store, "text")
        with pytest.raises(EmbedderMismatchError):
            await store.read(WORKSPACE, lambda snapshot: snapshot.nearest(sample_vector("text", 8), 1))

    async def test_neighbours_follow_the_conversation_not_the_insertion(self, store: MemoryStore) -> None:
        moments = {"c": 3, "a": 1, "e": 5, "b": 2, "d": 4}
        for text, day in moments.items():
            await add(store, text, conversation="talk", timestamp=DAY + timedelta(days=day))
            await add(store, text, "elsewhere", conversation="talk", timestamp=DAY + timedelta(days=day))
        await add(store, "other talk", conversation="other")
        await add(store, "no talk")
        await add(store, "none either")
        everyone = {"a": "--bc", "b": "-acd", "c": "abde", "d": "bce-", "e": "cd--"}
        assert await neighbours_of(store) == everyone | dict.fromkeys(("other talk", "no talk", "none either"), "----")

    async def test_equal_moments_are_ordered_by_insertion(self, store: MemoryStore) -> None:
        for text in "zyx":
            await add(store, text, conversation="talk", timestamp=DAY)
        assert await neighbours_of(store) == {"z": "--yx", "y": "-zx-", "x": "zy--"}

    async def test_neighbours_are_right_after_whatever_happens(self, store: MemoryStore, other: MemoryStore) -> None:
        ids = {}
        for day, text in enumerate("abcd"):
            ids[text] = await add(store, text, conversation="talk", timestamp=DAY + timedelta(days=day))
        assert await neighbours_of(other) == {"a": "--bc", "b": "-acd", "c": "abd-", "d": "bc--"}
        await store.delete(WORKSPACE, ids["b"])
        assert await neighbours_of(other) == {"a": "--cd", "c": "-ad-", "d": "ac--"}
        await add(store, "e", conversation="talk", timestamp=DAY - timedelta(days=1))
        assert await neighbours_of(other) == {"e": "--ac", "a": "-ecd", "c": "ead-", "d": "ac--"}
        await store.restore(WORKSPACE, ids["b"])
        await add(store, "f", conversation="talk", timestamp=DAY, replaces=ids["a"])
        assert await neighbours_of(other) == {"e": "--fb", "f": "-ebc", "b": "efcd", "c": "fbd-", "d": "bc--"}
        await store.delete(WORKSPACE, ids["d"])
        await store.purge(WORKSPACE, deleted_before=datetime.now(UTC).timestamp() + 1)
        assert await neighbours_of(other) == {"e": "--fb", "f": "-ebc", "b": "efc-", "c": "fb--"}

    async def test_another_store_finds_at_once_what_was_written(self, store: MemoryStore, other: MemoryStore) -> None:
        assert await searchable(other) == []
        first = await add(store, "alpha")
        second = await add(store, "beta")
        wanted = sample_vector("beta")
        rows, _ = await other.read(WORKSPACE, lambda snapshot: snapshot.postings(["beta"])["beta"])
        assert rows.tolist() == [1]
        assert (await other.read(WORKSPACE, lambda snapshot: snapshot.cosines(rows, wanted)))[0] > 0.99
        assert await other.get(WORKSPACE, second) is not None
        await other.delete(WORKSPACE, first)
        assert await searchable(store) == ["beta"]
        await store.restore(WORKSPACE, first)
        assert await searchable(other) == ["alpha", "beta"]

    async def test_the_version_changes_with_the_rows(self, store: MemoryStore, other: MemoryStore) -> None:
        async def version() -> int:
            return await other.read(WORKSPACE, lambda snapshot: snapshot.version)

        first = await add(store, "a")
        versions = [await version()]
        assert await version() == versions[0]
        await add(store, "b")
        versions.append(await version())
        await store.delete(WORKSPACE, first)
        versions.append(await version())
        await store.restore(WORKSPACE, first)
        versions.append(await version())
        await add(store, "b", replaces=first)
        versions.append(await version())
        await store.delete(WORKSPACE, await add(store, "b"))
        versions.append(await version())
        await add(store, "b")
        versions.append(await version())
        assert len(set(versions)) == len(versions)

    async def test_a_sample_is_the_same_while_nothing_changes(self, store: MemoryStore) -> None:
        for number in range(30):
            await add(store, f"m {number}")
        first = await store.read(WORKSPACE, lambda snapshot: snapshot.sample(7))
        again = await store.read(WORKSPACE, lambda snapshot: snapshot.sample(7))
        assert first.tolist() == again.tolist()
        assert len(set(first.tolist())) == 7
        everything = await store.read(WORKSPACE, lambda snapshot: snapshot.sample(100))
        assert sorted(everything.tolist()) == list(range(30))

    async def test_authors_come_by_place(self, store: MemoryStore) -> None:
        for author in ("Ada", "", "Борис"):
            await add(store, f"by {author}", author=author)
        authors = await store.read(WORKSPACE, lambda snapshot: snapshot.authors(np.array([2, 0, 1, 2])))
        assert authors == ["Борис", "Ada", "", "Борис"]

    async def test_what_the_work_raises_reaches_who_asked(self, store: MemoryStore) -> None:
        def fail(_: Snapshot) -> None:
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await store.read(WORKSPACE, fail)
        assert await searchable(store) == []


async def neighbours_of(store: MemoryStore) -> dict[str, str]:
    """By text, the texts of the neighbours, a letter each; `-` where there is none."""

    def look(snapshot: Snapshot) -> dict[str, str]:
        texts = [one.text for one in snapshot.found(np.arange(snapshot.chunks))]
        rows = zip(texts, snapshot.neighbours.tolist(), strict=True)
        return {text: "".join(texts[place][0] if place >= 0 else "-" for place in four) for text, four in rows}

    return await store.read(WORKSPACE, look)
