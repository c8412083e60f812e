"""The contract of an embedder, as test classes."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import pytest

from zapomni_core.errors import ProcessingError
from zapomni_core.http import call_limit

TEXTS = [
    "The piano is in the cellar.",
    "Anna moved to Lisbon last spring, because she found a job at the harbour.",
    "def area(self):\n    return self.width * self.height",
    "Ключи от дачи висят в коридоре.",
    "去年春天我们搬到了里斯本。",
    "الاجتماع يوم الثلاثاء",
    "ขอบคุณมาก",
    "👩\u200d🚀 🇵🇹",
]
ODD = ["", " \n\t", "\0", "\ud800", "...", "e\u0301" * 50, "x" * 5000, "\u202eabc"]
LIMIT_SECONDS = 60.0
SLOW_SECONDS = 2.0
ALMOST_EQUAL = 0.999

Fault = Literal["away", "slow", "another dimension", "not a number", "too few", "too many"]
FAULTS: tuple[str, ...] = get_args(Fault)


class EmbedderContract:
    """The behaviour that every embedder must have.

    ```python
    class TestMyEmbedder(EmbedderContract):
        name = "mine"

        @pytest.fixture
        async def embedder(self):
            embedder = MyEmbedder()
            yield embedder
            await embedder.close()
    ```
    """

    name: str
    """The name of its provider."""

    async def test_its_identity_names_provider_model_and_dimension(self, embedder: Any) -> None:
        before = embedder.identity
        vectors = await embedder.embed(TEXTS)
        known = embedder.identity
        assert (known.name, known.dimension) == (self.name, vectors.shape[1])
        assert known.model
        assert (before.name, before.model) == (known.name, known.model)
        assert before.dimension in (0, known.dimension)

    async def test_without_texts_it_connects_and_knows_its_dimension(self, embedder: Any) -> None:
        assert (await embedder.embed([])).shape == (0, embedder.identity.dimension)
        assert embedder.identity.dimension > 0

    @pytest.mark.parametrize("query", [False, True], ids=["passages", "questions"])
    async def test_each_text_gets_a_row_of_unit_length(self, embedder: Any, query: bool) -> None:
        vectors = await embedder.embed(TEXTS, query=query)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), embedder.identity.dimension)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)

    async def test_any_text_gets_a_vector(self, embedder: Any) -> None:
        vectors = await embedder.embed(ODD)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
        assert np.isfinite(vectors).all()

    async def test_a_very_long_text_gets_a_vector(self, embedder: Any) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            (vector,) = await embedder.embed(["A long story. " * 20_000])
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)

    async def test_the_same_text_gets_the_same_vector(self, embedder: Any) -> None:
        first, second = await embedder.embed([TEXTS[0]]), await embedder.embed([TEXTS[0]])
        assert first == pytest.approx(second, abs=1e-4)

    async def test_a_text_gets_the_same_vector_alone_and_among_others(self, embedder: Any) -> None:
        together = await embedder.embed(TEXTS * 6)
        alone = np.concatenate([await embedder.embed([text]) for text in TEXTS])
        cosines = np.einsum("ij,ij->i", together, np.tile(alone, (6, 1)))
        assert cosines.min() > ALMOST_EQUAL

    async def test_calls_at_the_same_time_do_not_mix(self, embedder: Any) -> None:
        expected = await embedder.embed(TEXTS)
        found = await asyncio.gather(*(embedder.embed([text]) for text in TEXTS))
        assert np.einsum("ij,ij->i", np.concatenate(found), expected).min() > ALMOST_EQUAL

    async def test_progress_grows_to_the_number_of_texts(self, embedder: Any) -> None:
        reports: list[tuple[int, int]] = []

        async def tell(done: int, total: int) -> None:
            reports.append((done, total))

        await embedder.embed(TEXTS * 10, on_batch=tell)
        assert reports == sorted(reports)
        assert reports[-1] == (len(TEXTS) * 10, len(TEXTS) * 10)

    async def test_tokens_are_counted_without_connecting(self, embedder: Any) -> None:
        assert embedder.tokens("") == 0
        assert 0 < embedder.tokens(TEXTS[0]) < embedder.tokens(TEXTS[0] * 3)
        assert all(embedder.tokens(text) >= 0 for text in [*TEXTS, *ODD])

    async def test_a_cancelled_call_ends_and_the_next_one_works(self, embedder: Any) -> None:
        await embedder.embed([])
        begun = asyncio.Event()

        async def tell(_done: int, _total: int) -> None:
            begun.set()

        work = asyncio.create_task(embedder.embed(TEXTS * 200, on_batch=tell))
        async with asyncio.timeout(LIMIT_SECONDS):
            await begun.wait()
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert len(await embedder.embed([TEXTS[0]])) == 1

    async def test_closing_twice_is_harmless(self, embedder: Any) -> None:
        await embedder.embed([TEXTS[0]])
        await embedder.close()
        await embedder.close()


class RemoteEmbedderContract(EmbedderContract):
    """Additional behaviour of an embedder that calls a provider.

    The fixture `misbehave` is a function that lets the provider behave like one of `FAULTS` from then on.
    """

    @pytest.mark.parametrize("fault", FAULTS)
    async def test_a_failure_is_a_processing_error_that_says_something(
        self, embedder: Any, misbehave: Callable[[Fault], None], fault: Fault
    ) -> None:
        await embedder.embed([])
        misbehave(fault)
        async with asyncio.timeout(LIMIT_SECONDS):
            with call_limit(SLOW_SECONDS), pytest.raises(ProcessingError) as caught:
                await embedder.embed(TEXTS)
        assert str(caught.value)
        assert not [text for text in TEXTS if text in str(caught.value)]
