"""Texts are embedded in batches of a bounded size, in order, with the prefix of the profile."""

import numpy as np
import pytest

from zapomni_core.embedding import Profile, in_batches

PROFILE = Profile(query_prefix="Q: ", passage_prefix="P: ", batch_texts=3, batch_characters=10)


async def batches_of(texts, *, query=False):
    seen = []

    async def encode(batch):
        seen.append(batch)
        return np.array([[float(len(text))] for text in batch], dtype=np.float32)

    vectors = await in_batches(texts, encode, PROFILE, dimension=1, query=query)
    return seen, vectors[:, 0].tolist()


async def test_a_batch_ends_at_its_number_of_texts_or_of_characters():
    seen, _ = await batches_of(["a", "b", "c", "d", "x" * 9, "y" * 50, "z"])
    assert [len(batch) for batch in seen] == [3, 2, 1, 1]


async def test_vectors_come_in_the_order_of_the_texts():
    _, vectors = await batches_of(["", "a", "aa", "aaa", "aaaa"])
    assert vectors == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(("query", "expected"), [(True, "Q: text"), (False, "P: text")])
async def test_the_prefix_is_that_of_questions_or_of_passages(query, expected):
    seen, _ = await batches_of(["text"], query=query)
    assert seen == [[expected]]
