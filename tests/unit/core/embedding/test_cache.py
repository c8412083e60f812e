"""What was embedded once is recognised."""

import pytest

from zapomni_core.embedding import QueryCache, digest
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import EmbedderIdentity

SOMEONE = EmbedderIdentity("someone", "small", 3)


class CountingEmbedder(HashingEmbedder):
    def __init__(self):
        super().__init__()
        self.asked = []

    async def embed(self, texts, **options):
        self.asked += [(text, options) for text in texts]
        return await super().embed(texts, **options)


def test_a_digest_is_the_same_for_the_same_text_and_embedder():
    assert digest(SOMEONE, "text") == digest(EmbedderIdentity("someone", "small", 3), "text")
    assert len(digest(SOMEONE, "text")) == 16


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (SOMEONE, "Text"),
        (SOMEONE, "text "),
        (EmbedderIdentity("someone", "small", 4), "text"),
        (EmbedderIdentity("someone", "large", 3), "text"),
        (EmbedderIdentity("another", "small", 3), "text"),
    ],
)
def test_another_text_or_embedder_has_another_digest(identity, text):
    assert digest(identity, text) != digest(SOMEONE, "text")


def test_a_digest_is_known_beforehand_because_stores_keep_it():
    assert digest(SOMEONE, "text\ud800").hex() == "8ca7dd332da191bd3d0f0d749e537b65"


async def test_a_question_is_embedded_once_and_as_a_question():
    embedder = CountingEmbedder()
    cache = QueryCache(embedder)
    first = await cache.vector("where?")
    assert (await cache.vector("where?")) is first
    assert embedder.asked == [("where?", {"query": True})]


async def test_a_remembered_vector_cannot_be_written_to():
    vector = await QueryCache(HashingEmbedder()).vector("where?")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


async def test_the_question_that_was_not_asked_for_longest_is_forgotten():
    embedder = CountingEmbedder()
    cache = QueryCache(embedder, size=2)
    for question in ("a", "b", "a", "c", "a", "b"):
        await cache.vector(question)
    assert [text for text, _ in embedder.asked] == ["a", "b", "c", "b"]
