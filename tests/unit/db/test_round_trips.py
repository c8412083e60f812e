"""A stored memory comes back by id, by word and by chunk."""

import itertools
from datetime import UTC

from hypothesis import given, settings
from hypothesis import strategies as st

from zapomni_core.testing.samples import ask, put, sample_chunk, sample_memory, sample_vector

any_value = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
any_metadata = st.dictionaries(st.text(), any_value | st.lists(any_value, max_size=3), max_size=4)


@st.composite
def any_memory(draw):
    text = draw(st.text(min_size=1))
    places = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    chunks = [
        sample_chunk(
            text,
            start,
            end,
            heading=draw(st.text(max_size=5)),
            terms=tuple(draw(st.lists(st.text(min_size=1, max_size=5), max_size=5))),
            vector=sample_vector(f"{start} {end}"),
        )
        for start, end in itertools.pairwise(places)
    ]
    return sample_memory(
        text,
        *chunks,
        metadata=draw(any_metadata),
        kind=draw(st.text()),
        tags=tuple(draw(st.lists(st.text(), max_size=3, unique=True))),
        source=draw(st.text()),
        author=draw(st.text()),
        conversation=draw(st.text()),
        timestamp=draw(st.none() | st.datetimes(timezones=st.just(UTC))),
        key="",
    )


@settings(max_examples=60)
@given(any_memory(), st.text())
async def test_a_memory_comes_back_as_it_went_in(store, new, workspace):
    added = await put(store, new, workspace)
    memory = await store.get(workspace, added.memory_id)
    for field in ("text", "kind", "tags", "source", "author", "conversation", "timestamp"):
        assert getattr(memory, field) == getattr(new, field), field
    assert repr(memory.metadata) == repr(new.metadata)

    terms = tuple(dict.fromkeys(term for chunk in new.chunks for term in chunk.terms))
    proposed = await ask(store, "", workspace=workspace, terms=terms, vector=sample_vector("any"), by_vector=10_000)
    found = [one for one in proposed.found if one.memory_id == added.memory_id]
    texts = await store.chunks(workspace, [one.chunk for one in found])
    for one, text, chunk in zip(found, texts, new.chunks, strict=True):
        assert (text.text, text.heading) == (new.text[chunk.start : chunk.end], chunk.heading)
        assert (one.length, one.counts) == (len(chunk.terms), tuple(map(chunk.terms.count, terms)))
