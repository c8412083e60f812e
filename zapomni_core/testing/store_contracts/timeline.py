"""The part of a graph's contract about time: validity, replacement and hidden memories."""

from datetime import UTC, datetime
from itertools import permutations

import pytest

from zapomni_core.testing.samples import (
    WORKSPACE,
    Graphed,
    delete,
    extract,
    problems,
    purge_deleted,
    put,
    relations_of,
    restore,
    said,
    sample_memory,
    triples,
)
from zapomni_core.testing.store_contracts.store import StoreContract

LIVED = [("Berlin", 2018), ("Paris", 2020), ("Rome", 2022)]


def year(number: int) -> datetime:
    """The first moment of a year."""
    return datetime(number, 1, 1, tzinfo=UTC)


class TimelineContract(StoreContract):
    """The contract of a graph on time."""

    @pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
    async def test_the_latest_that_replaces_others_is_shown_whatever_came_first(
        self, store: Graphed, order: tuple[int, ...]
    ) -> None:
        ids = {}
        for place, since in (LIVED[index] for index in order):
            ids[place] = await extract(store, "Ada", "lives in", place, replaces=True, valid_from=year(since))
        assert await triples(store, "Ada") == ["Ada lives in Rome"]
        history = [one for _, one in await relations_of(store, "Ada", ended=True)]
        spans = {one.object.name: (one.valid_from, one.valid_until) for one in history}
        assert spans == {
            "Berlin": (year(2018), year(2020)),
            "Paris": (year(2020), year(2022)),
            "Rome": (year(2022), None),
        }
        ended_by = {one.object.name: one.ended_by for one in history}
        assert ended_by == {"Berlin": ids["Paris"], "Paris": ids["Rome"], "Rome": None}
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.facts, counts.ended) == (1, 2)
        assert await problems(store) == []

    async def test_without_valid_times_the_moments_of_the_memories_decide(self, store: Graphed) -> None:
        await extract(store, "Ada", "lives in", "Paris", replaces=True, when=year(2020))
        await extract(store, "Ada", "lives in", "Berlin", replaces=True, when=year(2018))
        assert await triples(store, "Ada") == ["Ada lives in Paris"]
        await extract(store, "Ada", "lives in", "Rome", replaces=True)
        assert await triples(store, "Ada") == ["Ada lives in Rome"]

    async def test_what_is_said_again_later_is_true_again(self, store: Graphed) -> None:
        for place, when in (("Berlin", 2018), ("Paris", 2020), ("Berlin", 2022)):
            await extract(store, "Ada", "lives in", place, replaces=True, when=year(when))
        assert await triples(store, "Ada") == ["Ada lives in Berlin"]
        expected = {2017: [], 2019: ["Berlin"], 2021: ["Paris"], 2023: ["Berlin"]}
        for when, places in expected.items():
            assert await triples(store, "Ada", at=year(when)) == [f"Ada lives in {place}" for place in places]
        (_, earlier), *_ = await relations_of(store, "Ada", at=year(2019))
        assert (earlier.valid_from, earlier.valid_until) == (year(2018), year(2020))

    async def test_what_a_later_time_ends_is_true_until_then(self, store: Graphed) -> None:
        await extract(store, "Ada", "lives in", "Berlin", replaces=True, valid_from=year(2018))
        await extract(store, "Ada", "lives in", "Paris", replaces=True, valid_from=year(9000))
        assert sorted(await triples(store, "Ada")) == ["Ada lives in Berlin", "Ada lives in Paris"]
        assert await triples(store, "Ada", at=year(2020)) == ["Ada lives in Berlin"]
        assert await triples(store, "Ada", at=year(9001)) == ["Ada lives in Paris"]
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.facts, counts.ended) == (2, 0)

    async def test_relations_that_do_not_replace_others_stand_beside_each_other(self, store: Graphed) -> None:
        await extract(store, "Ada", "knows", "Grace", when=year(2018))
        await extract(store, "Ada", "knows", "Alan", when=year(2020))
        assert await triples(store, "Ada") == ["Ada knows Alan", "Ada knows Grace"]
        assert await triples(store, "Ada", at=year(2019)) == ["Ada knows Grace"]

    async def test_a_relation_replaces_those_of_its_own_subject_and_type_alone(self, store: Graphed) -> None:
        await extract(store, "Ada", "lives in", "Berlin", replaces=True, when=year(2018))
        await extract(store, "Alan", "lives in", "Paris", replaces=True, when=year(2020))
        await extract(store, "Ada", "works in", "Rome", replaces=True, when=year(2020))
        assert sorted(await triples(store, "Ada")) == ["Ada lives in Berlin", "Ada works in Rome"]

    async def test_what_has_ended_was_true_until_then(self, store: Graphed) -> None:
        await extract(store, "Ada", "worked at", "Acme", valid_from=year(2010), valid_until=year(2015))
        assert await triples(store, "Ada", at=year(2012)) == ["Ada worked at Acme"]
        assert await triples(store, "Ada", at=year(2009)) == []
        assert await triples(store, "Ada", at=year(2015)) == []
        ((_, kept),) = await relations_of(store, "Ada", ended=True)
        assert (kept.valid_from, kept.valid_until, kept.ended_by) == (year(2010), year(2015), None)

    async def test_a_relation_that_ended_and_began_again_has_both_times(self, store: Graphed) -> None:
        await extract(store, "Ada", "worked at", "Acme", valid_from=year(2010), valid_until=year(2012))
        await extract(store, "Ada", "worked at", "Acme", valid_from=year(2014))
        shown = [bool(await triples(store, "Ada", at=year(when))) for when in (2011, 2013, 2015)]
        assert shown == [True, False, True]

    async def test_the_end_can_be_learned_from_another_memory(self, store: Graphed) -> None:
        await extract(store, "Ada", "worked at", "Acme", valid_from=year(2010))
        await extract(store, "Ada", "worked at", "Acme", valid_until=year(2012))
        ((_, kept),) = await relations_of(store, "Ada", ended=True)
        assert (kept.valid_from, kept.valid_until, len(kept.evidence)) == (year(2010), year(2012), 2)

    async def test_what_is_only_known_to_have_ended_was_true_before(self, store: Graphed) -> None:
        await extract(store, "Ada", "worked at", "Acme", valid_until=year(2012))
        assert await triples(store, "Ada", at=year(2011)) == ["Ada worked at Acme"]
        assert await triples(store, "Ada", at=year(2013)) == []

    async def test_the_earlier_relation_comes_back_when_the_later_memory_is_deleted(self, store: Graphed) -> None:
        await extract(store, "Ada", "lives in", "Berlin", replaces=True, when=year(2018))
        later = await extract(store, "Ada", "lives in", "Paris", replaces=True, when=year(2020))
        await delete(store, later)
        assert await triples(store, "Ada", ended=True) == ["Ada lives in Berlin"]
        ((_, back),) = await relations_of(store, "Ada")
        assert (back.valid_until, back.ended_by) == (None, None)
        await restore(store, later)
        assert await triples(store, "Ada") == ["Ada lives in Paris"]
        assert await problems(store) == []

    async def test_the_earlier_relation_comes_back_when_the_later_memory_is_read_anew(self, store: Graphed) -> None:
        await extract(store, "Ada", "lives in", "Berlin", replaces=True, when=year(2018))
        later = await extract(store, "Ada", "lives in", "Paris", replaces=True, when=year(2020))
        text = "Ada lives in Paris"
        assert await store.graph.record(WORKSPACE, later, said(text, "Ada", "visits", "Paris"))
        assert sorted(await triples(store, "Ada")) == ["Ada lives in Berlin", "Ada visits Paris"]
        assert await problems(store) == []

    async def test_a_purged_memory_ends_nothing(self, store: Graphed) -> None:
        await extract(store, "Ada", "lives in", "Berlin", replaces=True, when=year(2018))
        later = await extract(store, "Ada", "lives in", "Paris", replaces=True, when=year(2020))
        await delete(store, later)
        await purge_deleted(store)
        assert await triples(store, "Ada", ended=True) == ["Ada lives in Berlin"]
        assert await store.graph.entities(WORKSPACE, ["Paris"]) == []
        assert await problems(store) == []

    async def test_a_replaced_memory_says_nothing_any_more(self, store: Graphed) -> None:
        old = await extract(store, "Ada", "knows", "Grace")
        text = "Ada knows Alan"
        new = sample_memory(text, replaces=old, extraction=said(text, "Ada", "knows", "Alan"))
        await put(store, new)
        assert await triples(store, "Ada", ended=True) == ["Ada knows Alan"]
        assert await store.graph.entities(WORKSPACE, ["Grace"]) == []
        assert await store.graph.entities_of(WORKSPACE, old) == []
        await delete(store, old)
        await restore(store, old)
        assert await triples(store, "Ada", ended=True) == ["Ada knows Alan"]
        assert await problems(store) == []
