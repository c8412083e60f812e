"""The embedder of the testing kit: no model, the same vectors everywhere."""

import numpy as np
import pytest

from zapomni_core.embedding import Embedder
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import EmbedderIdentity


async def embed(*texts):
    embedder: Embedder = HashingEmbedder()
    return await embedder.embed(texts)


def test_it_has_an_identity():
    assert HashingEmbedder(64).identity == EmbedderIdentity("hashing", "hashing-64", 64)


async def test_texts_that_share_words_are_nearer_than_those_that_do_not():
    question, answer, another = await embed("the port of the server", "Server port: 8080", "Anna lives in Lisbon")
    assert question @ answer > question @ another + 0.2


async def test_texts_that_share_parts_of_words_are_near_too():
    question, answer, another = await embed("program", "programming", "umbrella")
    assert question @ answer > question @ another + 0.2


@pytest.mark.parametrize("text", ["", "...", "\ud800", "\0", "漢字", "x" * 100_000])
async def test_any_text_has_a_vector_of_unit_length(text):
    vectors = await embed(text)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


async def test_vectors_are_the_same_on_every_machine():
    (vector,) = await embed("the same everywhere")
    assert np.flatnonzero(vector)[:4].tolist() == [1, 6, 12, 14]
