"""Filters find a memory by the values of its metadata."""

import pytest

from zapomni_core.testing.samples import ask, put, sample_memory
from zapomni_db.filters import Filter


@pytest.mark.parametrize(("values", "found"), [(100, 1), (101, 0)])
async def test_a_list_of_up_to_a_hundred_values_is_found_by_each_of_them(store, values, found):
    await put(store, sample_memory("text", metadata={"numbers": list(range(values))}), "default")
    first, last = (Filter(metadata={"numbers": (number,)}) for number in (0, values - 1))
    for wanted in (first, last):
        assert (await ask(store, "text", wanted=wanted)).matching == found


async def test_a_key_that_is_not_a_string_is_matched_as_stored(store):
    await put(store, sample_memory("text", metadata={7: "hall"}), "default")
    wanted = Filter(metadata={"7": ("hall",)})
    assert (await ask(store, "text", wanted=wanted)).matching == 1
    assert await store.check() == []
