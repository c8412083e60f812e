"""The nearest rows by sign bits, for any dimension and mask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.errors import InvalidInputError
from zapomni_db.sqlite import vectors as stored


def kept_codes(vectors):
    bits = b"".join(stored.signs(vector) for vector in vectors)
    return stored.read_codes(bits, stored.code_words(vectors.shape[1]), len(vectors))


@given(
    dimension=st.integers(1, 200),
    rows=st.integers(1, 400),
    count=st.integers(1, 50) | st.just(500),
    kept_share=st.sampled_from([None, 0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_the_rows_with_the_fewest_different_signs_are_found(dimension, rows, count, kept_share, seed):
    random = np.random.default_rng(seed)
    vectors, wanted = random.standard_normal((rows, dimension)), random.standard_normal(dimension)
    mask = None if kept_share is None else random.random(rows) < kept_share
    allowed = np.arange(rows) if mask is None else np.flatnonzero(mask)
    found = stored.nearest(kept_codes(vectors), stored.signs(wanted), count, mask)
    distances = ((vectors > 0) != (wanted > 0)).sum(axis=1)
    assert set(found) <= set(allowed)
    assert len(found) >= min(count, len(allowed))
    missed = np.setdiff1d(allowed, found)
    assert not len(missed) or distances[missed].min() > distances[found].max()


def test_a_scan_over_many_blocks_is_the_same():
    vectors = np.random.default_rng(1).standard_normal((40_000, 64))
    assert stored.nearest(kept_codes(vectors), stored.signs(vectors[39_999]), 1, None).tolist() == [39_999]


@pytest.mark.parametrize("vector", [np.ones(3), np.ones((2, 2)), np.array([1, np.nan]), np.array([1, 1e6])])
def test_a_vector_of_another_shape_is_refused(vector):
    with pytest.raises(InvalidInputError, match="vector"):
        stored.to_half(vector, 2)


def test_a_vector_without_length_is_near_to_nothing():
    vectors = np.array([[0, 0], [3, 4]], np.float32)
    assert stored.cosines(vectors, np.array([0.6, 0.8], np.float32)) == pytest.approx([0, 1])


def test_every_half_precision_number_is_decoded_exactly():
    everything = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = everything[np.isfinite(everything)]
    assert np.array_equal(stored.read_vectors(finite.tobytes(), 1)[0], finite.astype(np.float32))
