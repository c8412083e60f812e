"""The fragments of the default embedder: the real model, loaded once for this module."""

import numpy as np
import pytest

from zapomni_core.embedding import DefaultEmbedder, FragmentEmbedder
from zapomni_core.embedding.fragments import RUN, fragments
from zapomni_core.errors import ProcessingError


@pytest.fixture(scope="module")
def shared():
    return DefaultEmbedder()


@pytest.fixture
async def model(shared):
    await shared.embed([])
    return shared._model


def test_the_default_embedder_gives_fragments():
    assert isinstance(DefaultEmbedder(), FragmentEmbedder)


@pytest.mark.parametrize("text", ["", "a"])
def test_a_text_no_longer_than_a_run_has_the_vector_that_the_model_gives_it(model, text):
    """So the layers are computed as the package computes them."""
    (runs,) = fragments(model, [text])
    assert runs == pytest.approx(model.encode([text]), abs=1e-4)


def test_every_three_neighbouring_tokens_are_a_run(model):
    text = "the quick brown fox jumps over the lazy dog"
    tokens = model._tokenizer.encode(text, out_type=int, add_bos=False, add_eos=False)
    (runs,) = fragments(model, [text])
    assert runs.shape == (len(tokens) - RUN + 1, 512)
    assert np.linalg.norm(runs, axis=1) == pytest.approx(1, abs=1e-5)


def test_texts_do_not_see_each_other(model):
    texts = ["Мама не ест сладкий перец.", "a", "the key is under the mat", ""]
    together = fragments(model, texts)
    for text, runs in zip(texts, together, strict=True):
        assert runs == pytest.approx(fragments(model, [text])[0], abs=1e-4)


async def test_any_text_has_fragments(shared):
    for runs in await shared.fragments(["", "\0", "x\udfff", "😀", "漢字", "word " * 3000]):
        assert np.isfinite(runs).all()
        assert len(runs) >= 1


async def test_without_texts_there_are_no_fragments(shared):
    assert await shared.fragments([]) == []


async def test_a_model_of_another_shape_is_a_processing_error():
    embedder = DefaultEmbedder()
    embedder._model = object()
    with pytest.raises(ProcessingError, match="closely"):
        await embedder.fragments(["a"])
