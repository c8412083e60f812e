"""The contract of a store's search: what it proposes for a question."""

# ruff: noqa: RUF001 - strange letters are the point

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from zapomni_core.testing.samples import (
    EMBEDDER,
    WORKSPACE,
    add,
    ask,
    delete,
    put,
    restore,
    sample_chunk,
    sample_memory,
    sample_vector,
    searchable,
)
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.filters import Filter, Scalar
from zapomni_db.records import Candidates
from zapomni_db.store import MemoryStore

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


class SearchContract(StoreContract):
    """The contract of a store on search candidates."""

    async def test_an_empty_workspace_proposes_nothing(self, store: MemoryStore) -> None:
        assert await store.term_counts("empty", ["word", "other"]) == (0, (0, 0))
        assert await store.term_counts("empty", []) == (0, ())
        proposed = await ask(store, "word", workspace="empty", wanted=Filter(tags=("a",)))
        assert proposed == Candidates([], [], words_full=False, vectors_full=False, matching=0, without_vector=0)
        assert await store.chunks("empty", []) == []

    async def test_a_candidate_tells_what_scoring_needs(self, store: MemoryStore) -> None:
        text = "one two two three four"
        parts = (sample_chunk(text, 0, 11), sample_chunk(text, 12, 17), sample_chunk(text, 18))
        added = await put(store, sample_memory(text, *parts, author="Ada", timestamp=DAY))
        second = await add(store, "five two")
        proposed = await ask(store, "two nine")
        assert [(one.memory_id, one.length, one.counts) for one in proposed.found] == [
            (added.memory_id, 3, (2, 0)),
            (added.memory_id, 1, (0, 0)),
            (added.memory_id, 1, (0, 0)),
            (second, 2, (1, 0)),
        ]
        assert [(one.author, one.moment == DAY, one.meets) for one in proposed.found] == [
            *[("Ada", True, True)] * 3,
            ("", False, True),
        ]
        found = await store.chunks(WORKSPACE, [proposed.found[number].chunk for number in (3, 0, 2)])
        assert [(one.memory_id, one.text, one.start, one.end) for one in found] == [
            (second, "five two", 0, 8),
            (added.memory_id, "one two two", 0, 11),
            (added.memory_id, "four", 18, 22),
        ]
        assert (proposed.matching, proposed.without_vector) == (2, 0)

    async def test_a_chunk_is_cut_by_characters_out_of_a_long_text(self, store: MemoryStore) -> None:
        text = "é数🫨x" * 50_000
        start = 4 * 33_333 + 1
        chunk = sample_chunk(text, start, start + 5, terms=("t",))
        await put(store, sample_memory(text, chunk))
        assert await searchable(store) == ["数🫨xé数"]

    async def test_chunks_are_found_in_their_workspace_while_they_are_there(self, store: MemoryStore) -> None:
        mine, gone = await add(store, "mine"), await add(store, "gone")
        chunks = [one.chunk for one in (await ask(store, "mine")).found]
        assert await store.chunks("other", chunks) == []
        await delete(store, gone)
        await store.purge(WORKSPACE, [gone])
        assert [one.memory_id for one in await store.chunks(WORKSPACE, chunks)] == [mine]

    async def test_any_term_is_found_as_exactly_what_it_is(self, store: MemoryStore) -> None:
        for term in ANY_TERMS:
            await put(store, sample_memory(term, sample_chunk(term, terms=(term, "x", term))))
        await put(store, sample_memory("all", sample_chunk("all", terms=ANY_TERMS)))
        assert await store.term_counts(WORKSPACE, ANY_TERMS) == (len(ANY_TERMS) + 1, (2,) * len(ANY_TERMS))
        for term in ANY_TERMS:
            proposed = await ask(store, term, terms=(term,), vector=None)
            assert [one.counts for one in proposed.found] == [(2,), (1,)], term[:20]
        absent = ("two", "words", "upper", "and", "snake", "case", "quoted", "a" * 200, "", "\ud800")
        assert (await store.term_counts(WORKSPACE, absent)).holding == (0,) * len(absent)

    async def test_terms_are_counted_in_live_chunks_of_the_workspace_only(self, store: MemoryStore) -> None:
        await add(store, "tea", workspace="other")
        gone, old, _ = await add(store, "tea a"), await add(store, "tea b"), await add(store, "tea c")
        await delete(store, gone)
        await add(store, "tea d", replaces=old)
        assert await store.term_counts(WORKSPACE, ["tea", "a"]) == (2, (2, 0))
        assert [one.counts for one in (await ask(store, "tea a")).found] == [(1, 0)] * 2

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
            ({"created_from": DAY}, "abc"),
            ({"created_to": DAY}, ""),
            ({"created_from": DAY, "created_to": datetime(9999, 1, 1, tzinfo=UTC), "tags": ("x",)}, "ab"),
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
        await add(store, "c", metadata={"h": list(range(100)), "m": list(range(101))})
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
            ({"h": (99,)}, "c"),
            ({"m": (99,)}, ""),
        ]
        await self._narrow(store, [({"metadata": values}, expected) for values, expected in asked])

    async def _narrow(self, store: MemoryStore, asked: Sequence[tuple[dict[str, Any], str]]) -> None:
        """Each filter leaves the memories of these texts."""
        for parts, expected in asked:
            found = await searchable(store, wanted=Filter(**parts))
            assert "".join(found) == expected, parts

    async def test_nothing_in_a_filter_is_syntax(self, store: MemoryStore) -> None:
        for text in HOSTILE:
            await add(store, text, tags=(text,), source=text, author=text, conversation=text, metadata={text: text})
        await add(store, "innocent")
        for text in HOSTILE:
            parts: dict[str, Any] = dict.fromkeys(("tags", "sources", "authors", "conversations"), (text,))
            found = await searchable(store, wanted=Filter(**parts, metadata={text: (text,)}))
            assert found == [text], text[:20]

    async def test_the_best_by_words_and_the_best_by_vector_are_proposed(self, store: MemoryStore) -> None:
        for number in range(40):
            await add(store, f"w{number} common")
        by_words = await ask(store, "w7 common", vector=None, by_terms=1)
        assert [one.counts for one in by_words.found] == [(1, 1)]
        assert (by_words.words_full, by_words.vectors_full) == (True, False)
        by_vector = await ask(store, "", vector=sample_vector("w9 common"), by_vector=1)
        assert await self._texts(store, by_vector) == ["w9 common"]
        assert (by_vector.words_full, by_vector.vectors_full) == (False, True)
        both = await ask(store, "w7", vector=sample_vector("w9 common"), by_terms=1, by_vector=1)
        assert await self._texts(store, both) == ["w7 common", "w9 common"]
        everything = await ask(store, "common")
        assert len(everything.found) == 40
        assert not (everything.words_full)
        assert not (everything.vectors_full)

    async def test_a_leg_says_that_it_was_cut_however_much_was_asked_for(self, store: MemoryStore) -> None:
        text, near = "common " * 1301, sample_vector("common")
        last = sample_chunk(text, 7 * 1300, 7 * 1300 + 6, vector=-near)
        await put(store, sample_memory(text, *(sample_chunk(text, 7 * at, 7 * at + 6) for at in range(1300)), last))
        for count in (100, 400, 1300):
            proposed = await ask(store, "common", by_terms=count, by_vector=count)
            assert (proposed.words_full, proposed.vectors_full) == (True, True)
        proposed = await ask(store, "common", by_terms=1301, by_vector=1301)
        assert (len(proposed.found), proposed.words_full, proposed.vectors_full) == (1301, False, False)

    async def test_the_filter_applies_before_the_cut(self, store: MemoryStore) -> None:
        for number in range(60):
            tags = ("far",) if number in (2, 58) else ()
            await add(store, f"w{number} w{number + 1} w{number + 2} common", tags=tags)
        far = Filter(tags=("far",))
        proposed = await ask(store, "w30 w31 w32 common", wanted=far, by_terms=2, by_vector=2)
        assert await self._texts(store, proposed) == ["w2 w3 w4 common", "w58 w59 w60 common"]
        assert (proposed.words_full, proposed.vectors_full, proposed.matching) == (False, False, 2)

    async def test_cosines_are_exact(self, store: MemoryStore) -> None:
        texts = [f"word{number} common" for number in range(20)]
        for text in texts:
            await add(store, text)
        wanted = sample_vector("word3 common")
        proposed = await ask(store, "word3", vector=wanted)
        expected = [sample_vector(text) @ wanted for text in texts]
        assert [one.cosine for one in proposed.found] == pytest.approx(expected, abs=2e-3)

    async def test_without_a_vector_there_are_no_cosines(self, store: MemoryStore) -> None:
        await add(store, "tea")
        assert [one.cosine for one in (await ask(store, "tea", vector=None)).found] == [None]

    async def test_a_question_by_another_embedder_is_refused(self, store: MemoryStore) -> None:
        await add(store, "text")
        with pytest.raises(EmbedderMismatchError):
            await ask(store, "text", embedder=replace(EMBEDDER, model="another"))

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
        await delete(store, ids["b"])
        assert await neighbours_of(other) == {"a": "--cd", "c": "-ad-", "d": "ac--"}
        await add(store, "e", conversation="talk", timestamp=DAY - timedelta(days=1))
        assert await neighbours_of(other) == {"e": "--ac", "a": "-ecd", "c": "ead-", "d": "ac--"}
        await restore(store, ids["b"])
        await add(store, "f", conversation="talk", timestamp=DAY, replaces=ids["a"])
        assert await neighbours_of(other) == {"e": "--fb", "f": "-ebc", "b": "efcd", "c": "fbd-", "d": "bc--"}
        await delete(store, ids["d"])
        await store.purge(WORKSPACE, [ids["d"]])
        assert await neighbours_of(other) == {"e": "--fb", "f": "-ebc", "b": "efc-", "c": "fb--"}

    async def test_neighbours_come_along_and_the_filter_marks_those_it_excludes(self, store: MemoryStore) -> None:
        for day, text in enumerate(("far", "before", "asked", "after", "beyond")):
            tags = ("wanted",) if text in ("asked", "after") else ()
            await add(store, text, conversation="talk", timestamp=DAY + timedelta(days=day), tags=tags)
        proposed = await ask(store, "asked", vector=None, wanted=Filter(tags=("wanted",)))
        found = await store.chunks(WORKSPACE, [one.chunk for one in proposed.found])
        assert {chunk.text: one.meets for chunk, one in zip(found, proposed.found, strict=True)} == {
            "far": False,
            "before": False,
            "asked": True,
            "after": True,
            "beyond": False,
        }
        assert proposed.matching == 2

    async def test_of_a_long_neighbour_the_nearest_chunks_come_along(self, store: MemoryStore) -> None:
        text = "0 1 2 3 4 5"
        for day, name in enumerate(("before", "asked", "after")):
            long = sample_memory(
                text,
                *(sample_chunk(text, 2 * at, 2 * at + 1, terms=(f"{name}{at}",)) for at in range(6)),
                metadata={"name": name},
                conversation="talk",
                timestamp=DAY + timedelta(days=day),
            )
            asked = sample_memory("asked", conversation="talk", timestamp=DAY + timedelta(days=day))
            await put(store, asked if name == "asked" else long)
        proposed = await ask(store, "asked", vector=None)
        assert await self._texts(store, proposed) == [*"2345", "asked", *"0123"]

    async def test_another_store_finds_at_once_what_was_written(self, store: MemoryStore, other: MemoryStore) -> None:
        assert await searchable(other) == []
        first = await add(store, "alpha")
        second = await add(store, "beta")
        proposed = await ask(other, "beta")
        assert [(one.counts, round(one.cosine or 0)) for one in proposed.found] == [((0,), 0), ((1,), 1)]
        assert await other.get(WORKSPACE, second) is not None
        await delete(other, first)
        assert await searchable(store) == ["beta"]
        await restore(store, first)
        assert await searchable(other) == ["alpha", "beta"]

    async def _texts(self, store: MemoryStore, proposed: Candidates) -> list[str]:
        return [one.text for one in await store.chunks(WORKSPACE, [one.chunk for one in proposed.found])]


async def neighbours_of(store: MemoryStore) -> dict[str, str]:
    """By text, the texts of the memories two before, one before, one after and two after, a letter each; `-` for none."""
    proposed = await ask(store, "", vector=sample_vector("any"), by_vector=1000)
    chunks = await store.chunks(WORKSPACE, [one.chunk for one in proposed.found])
    texts = {one.memory_id: one.text for one in chunks}
    around = {text: dict.fromkeys((-2, -1, 1, 2), "-") for text in texts.values()}
    for one, offset, other in proposed.links:
        around[texts[one]][offset] = texts[other][0]
    return {text: "".join(beside.values()) for text, beside in around.items()}
