"""Whatever is kept comes back, by id, by word and by chunk."""

import itertools
from datetime import UTC

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from zapomni_core.testing.samples import sample_chunk, sample_memory, sample_vector
from zapomni_core.testing.stores import put

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

    def look(snapshot):
        rows = np.flatnonzero(snapshot.places == snapshot.memories - 1)
        for row, found, chunk in zip(rows.tolist(), snapshot.found(rows), new.chunks, strict=True):
            assert (found.text, found.heading) == (new.text[chunk.start : chunk.end], chunk.heading)
            for term, (holding, counts) in snapshot.postings(chunk.terms).items():
                assert counts[holding.tolist().index(row)] == chunk.terms.count(term)

    await store.read(workspace, look)
