"""The part of a graph's contract that speaks of time: what was true when, what supersedes what, and what is hidden."""

from datetime import UTC, datetime
from itertools import permutations

import pytest

from zapomni_core.testing.extractions import Graphed, relations_of, said, state, triples
from zapomni_core.testing.samples import WORKSPACE, sample_memory
from zapomni_core.testing.stores import StoreContract, delete, problems, purge_deleted, put, restore

LIVED = [("Berlin", 2018), ("Paris", 2020), ("Rome", 2022)]


def year(number: int) -> datetime:
    """The first moment of a year."""
    return datetime(number, 1, 1, tzinfo=UTC)


class TimelineContract(StoreContract):
    """What every graph must do with time."""

    @pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
    async def test_the_latest_exclusive_relation_is_shown_whatever_came_first(
        self, store: Graphed, order: tuple[int, ...]
    ) -> None:
        for place, since in (LIVED[index] for index in order):
            await state(store, "Ada", "lives in", place, exclusive=True, valid_from=year(since))
        assert await triples(store, "Ada") == ["Ada lives in Rome"]
        history = [one for _, one in await relations_of(store, "Ada", superseded=True)]
        spans = {one.object.name: (one.valid_from, one.valid_until) for one in history}
        assert spans == {
            "Berlin": (year(2018), year(2020)),
            "Paris": (year(2020), year(2022)),
            "Rome": (year(2022), None),
        }
        by_id = {one.id: one.object.name for one in history}
        later = {one.object.name: by_id.get(one.superseded_by or "") for one in history}
        assert later == {"Berlin": "Paris", "Paris": "Rome", "Rome": None}
        assert all((one.superseded_at is None) == (one.superseded_by is None) for one in history)
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.relations, counts.superseded) == (1, 2)
        assert await problems(store) == []

    async def test_without_valid_times_the_moments_of_the_memories_decide(self, store: Graphed) -> None:
        await state(store, "Ada", "lives in", "Paris", exclusive=True, when=year(2020))
        await state(store, "Ada", "lives in", "Berlin", exclusive=True, when=year(2018))
        assert await triples(store, "Ada") == ["Ada lives in Paris"]
        await state(store, "Ada", "lives in", "Rome", exclusive=True)
        assert await triples(store, "Ada") == ["Ada lives in Rome"]

    async def test_what_is_said_again_later_is_true_again(self, store: Graphed) -> None:
        for place, when in (("Berlin", 2018), ("Paris", 2020), ("Berlin", 2022)):
            await state(store, "Ada", "lives in", place, exclusive=True, when=year(when))
        assert await triples(store, "Ada") == ["Ada lives in Berlin"]
        expected = {2017: [], 2019: ["Berlin"], 2021: ["Paris"], 2023: ["Berlin"]}
        for when, places in expected.items():
            assert await triples(store, "Ada", at=year(when)) == [f"Ada lives in {place}" for place in places]
        (_, earlier), *_ = await relations_of(store, "Ada", at=year(2019))
        assert (earlier.valid_from, earlier.valid_until) == (year(2018), year(2020))

    async def test_what_a_later_time_ends_is_true_until_then(self, store: Graphed) -> None:
        await state(store, "Ada", "lives in", "Berlin", exclusive=True, valid_from=year(2018))
        await state(store, "Ada", "lives in", "Paris", exclusive=True, valid_from=year(9000))
        assert sorted(await triples(store, "Ada")) == ["Ada lives in Berlin", "Ada lives in Paris"]
        assert await triples(store, "Ada", at=year(2020)) == ["Ada lives in Berlin"]
        assert await triples(store, "Ada", at=year(9001)) == ["Ada lives in Paris"]
        counts = await store.graph.counts(WORKSPACE)
        assert (counts.relations, counts.superseded) == (2, 0)

    async def test_a_time_comes_with_the_evidence_that_speaks_of_it(self, store: Graphed) -> None:
        ids = {}
        for place, since in (("Berlin", 2020), ("Paris", 2015), ("Berlin", 2010)):
            ids[since] = await state(store, "Ada", "lives in", place, exclusive=True, valid_from=year(since))
        for when, since in ((2012, 2010), (2017, 2015), (2021, 2020)):
            ((_, relation),) = await relations_of(store, "Ada", at=year(when))
            assert [one.memory_id for one in relation.evidence] == [ids[since]]

    async def test_relations_that_are_not_exclusive_stand_beside_each_other(self, store: Graphed) -> None:
        await state(store, "Ada", "knows", "Grace", when=year(2018))
        await state(store, "Ada", "knows", "Alan", when=year(2020))
        assert await triples(store, "Ada") == ["Ada knows Alan", "Ada knows Grace"]
        assert await triples(store, "Ada", at=year(2019)) == ["Ada knows Grace"]

    async def test_an_exclusive_relation_excludes_its_own_subject_and_type_alone(self, store: Graphed) -> None:
        await state(store, "Ada", "lives in", "Berlin", exclusive=True, when=year(2018))
        await state(store, "Alan", "lives in", "Paris", exclusive=True, when=year(2020))
        await state(store, "Ada", "works in", "Rome", exclusive=True, when=year(2020))
        assert sorted(await triples(store, "Ada")) == ["Ada lives in Berlin", "Ada works in Rome"]

    async def test_what_has_ended_was_true_until_then(self, store: Graphed) -> None:
        await state(store, "Ada", "worked at", "Acme", valid_from=year(2010), valid_until=year(2015))
        assert await triples(store, "Ada", at=year(2012)) == ["Ada worked at Acme"]
        assert await triples(store, "Ada", at=year(2009)) == []
        assert await triples(store, "Ada", at=year(2015)) == []
        ((_, kept),) = await relations_of(store, "Ada")
        assert (kept.valid_from, kept.valid_until, kept.superseded_by) == (year(2010), year(2015), None)

    async def test_a_relation_that_ended_and_began_again_has_both_times(self, store: Graphed) -> None:
        await state(store, "Ada", "worked at", "Acme", valid_from=year(2010), valid_until=year(2012))
        await state(store, "Ada", "worked at", "Acme", valid_from=year(2014))
        shown = [bool(await triples(store, "Ada", at=year(when))) for when in (2011, 2013, 2015)]
        assert shown == [True, False, True]

    async def test_the_end_can_be_learned_from_another_memory(self, store: Graphed) -> None:
        await state(store, "Ada", "worked at", "Acme", valid_from=year(2010))
        await state(store, "Ada", "worked at", "Acme", valid_until=year(2012))
        ((_, kept),) = await relations_of(store, "Ada")
        assert (kept.valid_from, kept.valid_until, len(kept.evidence)) == (year(2010), year(2012), 2)

    async def test_what_is_only_known_to_have_ended_was_true_before(self, store: Graphed) -> None:
        await state(store, "Ada", "worked at", "Acme", valid_until=year(2012))
        assert await triples(store, "Ada", at=year(2011)) == ["Ada worked at Acme"]
        assert await triples(store, "Ada", at=year(2013)) == []

    async def test_a_relation_is_learned_when_its_first_memory_is_kept(self, store: Graphed) -> None:
        first = await state(store, "Ada", "knows", "Grace", when=year(2018))
        await state(store, "Ada", "knows", "Grace", when=year(2010))
        ((_, known),) = await relations_of(store, "Ada")
        memory = await store.get(WORKSPACE, first)
        assert memory is not None
        assert known.learned_at == memory.created_at
        assert known.valid_from == year(2010)

    async def test_the_earlier_relation_comes_back_when_the_later_memory_is_deleted(self, store: Graphed) -> None:
        await state(store, "Ada", "lives in", "Berlin", exclusive=True, when=year(2018))
        later = await state(store, "Ada", "lives in", "Paris", exclusive=True, when=year(2020))
        await delete(store, later)
        assert await triples(store, "Ada", superseded=True) == ["Ada lives in Berlin"]
        ((_, back),) = await relations_of(store, "Ada")
        assert (back.valid_until, back.superseded_by, back.superseded_at) == (None, None, None)
        await restore(store, later)
        assert await triples(store, "Ada") == ["Ada lives in Paris"]
        assert await problems(store) == []

    async def test_the_earlier_relation_comes_back_when_the_later_memory_is_read_anew(self, store: Graphed) -> None:
        await state(store, "Ada", "lives in", "Berlin", exclusive=True, when=year(2018))
        later = await state(store, "Ada", "lives in", "Paris", exclusive=True, when=year(2020))
        text = "Ada lives in Paris"
        assert await store.graph.record(WORKSPACE, later, said(text, "Ada", "visits", "Paris"))
        assert sorted(await triples(store, "Ada")) == ["Ada lives in Berlin", "Ada visits Paris"]
        assert await problems(store) == []

    async def test_a_purged_memory_supersedes_nothing(self, store: Graphed) -> None:
        await state(store, "Ada", "lives in", "Berlin", exclusive=True, when=year(2018))
        later = await state(store, "Ada", "lives in", "Paris", exclusive=True, when=year(2020))
        await delete(store, later)
        await purge_deleted(store)
        assert await triples(store, "Ada", superseded=True) == ["Ada lives in Berlin"]
        assert await store.graph.entities(WORKSPACE, ["Paris"]) == []
        assert await problems(store) == []

    async def test_a_replaced_memory_says_nothing_any_more(self, store: Graphed) -> None:
        old = await state(store, "Ada", "knows", "Grace")
        text = "Ada knows Alan"
        new = sample_memory(text, replaces=old, extraction=said(text, "Ada", "knows", "Alan"))
        await put(store, new)
        assert await triples(store, "Ada", superseded=True) == ["Ada knows Alan"]
        assert await store.graph.entities(WORKSPACE, ["Grace"]) == []
        assert await store.graph.entities_of(WORKSPACE, old) == []
        await delete(store, old)
        await restore(store, old)
        assert await triples(store, "Ada", superseded=True) == ["Ada knows Alan"]
        assert await problems(store) == []
