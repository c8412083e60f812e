"""Embedders on the network, against a real HTTP server: requests, vectors and failure messages."""

import asyncio

import numpy as np
import pytest

from zapomni_core.embedding.remote import SHORTEST_CUT
from zapomni_core.errors import ConfigurationError, EmbedderUnavailableError
from zapomni_core.http import call_limit
from zapomni_core.providers import BUILT_IN, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.llm_server import (
    LLMReply,
    LLMServer,
    cut,
    model_missing,
    refuse,
    refuse_beyond,
    reply,
    stall,
    vectors,
)
from zapomni_db.records import EmbedderIdentity

KEY = "sk-hunter2"
TEXTS = [f"text number {number}" for number in range(10)]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def server():
    with LLMServer(vectors(64)) as server:
        yield server


@pytest.fixture(params=["ollama", "openai"])
def protocol(request):
    return request.param


@pytest.fixture
async def make(server):
    """Make embedders that are closed after the test."""
    made = []

    def make(protocol, *, recorded=None, **changes):
        base_url = server.url if protocol == "ollama" else f"{server.url}/v1"
        table = {"base_url": base_url, "model": "wise", "api_key": KEY} | changes
        settings = Settings.model_validate({"embedding": {protocol: table}})
        made.append(Providers(BUILT_IN).make("embedder", protocol, settings, recorded))
        return made[-1]

    yield make
    for embedder in made:
        await embedder.close()


@pytest.fixture
def embedder(make, protocol):
    return make(protocol)


async def failure_of(embedder, texts=("text",), **options):
    with pytest.raises(EmbedderUnavailableError) as caught:
        await embedder.embed(list(texts), **options)
    assert caught.value.failure.suggestion in str(caught.value)
    return caught.value.failure


async def test_texts_get_vectors_of_unit_length_in_their_order(embedder, server):
    server.always(vectors(64, lambda rows: [[5 * number for number in row] for row in rows]))
    found = await embedder.embed(TEXTS)
    assert found.dtype == np.float32
    assert found == pytest.approx(await HashingEmbedder(64).embed(TEXTS), abs=1e-6)


async def test_the_first_answer_sets_the_dimension(embedder, server, protocol):
    assert embedder.identity == EmbedderIdentity(protocol, "wise", 0)
    assert (await embedder.embed([])).shape == (0, 64)
    assert embedder.identity == EmbedderIdentity(protocol, "wise", 64)
    await embedder.embed([])
    assert server.count == 1


async def test_the_recorded_identity_sets_model_and_dimension(make, server, protocol):
    recorded = EmbedderIdentity(protocol, "older", 64)
    embedder = make(protocol, recorded=recorded, model=None)
    assert embedder.identity == recorded
    await embedder.embed(["text"])
    assert [(request.texts, request.body["model"]) for request in server.requests] == [(["text"], "older")]


async def test_the_settings_overrule_the_recorded_model(make, protocol):
    recorded = EmbedderIdentity(protocol, "older", 64)
    assert make(protocol, recorded=recorded).identity == EmbedderIdentity(protocol, "wise", 0)


@pytest.mark.parametrize(("protocol", "usual"), [("ollama", "nomic-embed-text"), ("openai", "text-embedding-3-small")])
def test_without_a_model_it_is_a_usual_one(make, protocol, usual):
    assert make(protocol, model=None).identity.model == usual


async def test_latest_is_the_same_model(make):
    assert make("ollama", model="wise:latest").identity.model == "wise"


async def test_ollama_is_called_in_its_protocol_without_silent_truncation(make, server):
    await make("ollama").embed(["one", "two"])
    request = server.requests[-1]
    assert (request.path, request.body) == (
        "/api/embed",
        {"model": "wise", "input": ["one", "two"], "truncate": False},
    )


async def test_openai_is_called_in_its_protocol(make, server):
    embedder = make("openai", dimensions=32)
    assert embedder.identity.dimension == 32
    assert (await embedder.embed(["one"])).shape == (1, 32)
    (request,) = server.requests
    assert (request.path, request.body) == (
        "/v1/embeddings",
        {"model": "wise", "input": ["one"], "dimensions": 32},
    )
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_answers_out_of_order_are_put_in_order(make, server):
    server.always(vectors(64, backwards=True))
    assert await make("openai").embed(TEXTS) == pytest.approx(await HashingEmbedder(64).embed(TEXTS), abs=1e-6)


async def test_known_models_get_their_prefixes(make, server):
    embedder = make("ollama", model="nomic-embed-text:v1.5")
    await embedder.embed(["where?"], query=True)
    await embedder.embed(["here"])
    assert [request.texts for request in server.requests[1:]] == [["search_query: where?"], ["search_document: here"]]


async def test_requests_are_bounded_by_count_and_size(make, server):
    embedder = make("ollama", batch_texts=4)
    reports = []

    async def tell(done, total):
        reports.append((done, total))

    long = "long " * 1500
    await embedder.embed([*TEXTS, *[long] * 5], on_batch=tell)
    sizes = [len(request.texts) for request in server.requests[1:]]
    assert max(sizes) == 4
    assert sum(sizes) == 15
    assert all(sum(map(len, request.texts)) <= 32_000 for request in server.requests)
    assert reports[-1] == (15, 15)
    assert reports == sorted(reports)


async def test_parallel_requests_are_bounded(make, server):
    embedder = make("ollama", batch_texts=1, parallel_requests=3)
    await embedder.embed([])
    server.always(stall(vectors(64)))
    server.then(vectors(64))  # the first batch goes alone
    work = asyncio.create_task(embedder.embed(TEXTS))
    await asyncio.to_thread(server.wait_for, 5)
    await asyncio.sleep(0.2)
    assert server.count == 5
    server.always(vectors(64))
    server.release()
    assert await work == pytest.approx(await HashingEmbedder(64).embed(TEXTS), abs=1e-6)


@pytest.mark.parametrize("limit", [{"texts": 3}, {"characters": 1000}])
async def test_inputs_that_are_too_large_are_divided_or_cut_and_logged(make, server, caplog, limit):
    server.always(refuse_beyond(vectors(64), **limit))
    long = "word " * 900
    texts = [*TEXTS, long]
    found = await make("ollama").embed(texts)
    assert found.shape == (11, 64)
    assert found[:10] == pytest.approx(await HashingEmbedder(64).embed(TEXTS), abs=1e-6)
    assert ("text_cut" in caplog.text) is ("characters" in limit)


async def test_a_text_beyond_the_longest_input_is_cut_and_that_is_logged(make, server, caplog):
    await make("ollama").embed(["x" * 20_000])
    assert [len(text) for text in server.requests[-1].texts] == [8000]
    assert "texts_cut" in caplog.text


async def test_a_short_text_that_is_refused_is_a_failure(make, server):
    embedder = make("ollama")
    await embedder.embed([])
    server.always(refuse(400))
    assert (await failure_of(embedder, ["x" * SHORTEST_CUT])).code == "REQUEST_REFUSED"
    assert server.count == 2


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\0", "漢字", "👩\u200d🚀"])
async def test_any_text_is_sent_in_a_form_that_providers_accept(embedder, server, text):
    assert np.linalg.norm((await embedder.embed([text]))[0]) == pytest.approx(1, abs=1e-5)
    (sent,) = server.requests[-1].texts
    assert sent.strip()
    sent.encode()


RUBBISH = {
    "no JSON": reply(b"no"),
    "a web page": reply(b"<html>Sign in</html>"),
    "another shape": reply(b'{"data": [{"index": 0}], "embeddings": 5}'),
    "a list": reply(b"[]"),
    "too few": vectors(64, lambda rows: rows[:-1]),
    "too many": vectors(64, lambda rows: [*rows, *rows]),
    "of several lengths": vectors(64, lambda rows: [row[: 60 + n] for n, row in enumerate(rows)]),
    "not a number": vectors(64, lambda rows: [[float("nan")] * 64 for _ in rows]),
    "zeros": vectors(64, lambda rows: [[0.0] * 64 for _ in rows]),
    "words": vectors(64, lambda rows: [["word"] * 64 for _ in rows]),
    "nothing": vectors(64, lambda rows: [[] for _ in rows]),
}
FAILURES = {
    "401": (refuse(401), "INVALID_API_KEY", "API_KEY"),
    "402": (refuse(402), "QUOTA_EXCEEDED", "credit"),
    "429": (refuse(429, retry_after="70"), "RATE_LIMIT", "Wait"),
    "500": (refuse(500), "SERVER_ERROR", "Wait"),
    "404": (reply(b"404 page not found", 404), "REQUEST_REFUSED", "embedding model"),
    "no model": (model_missing(), "MODEL_MISSING", "a model that the provider has"),
    "cut before": (cut(), "NETWORK", "BASE_URL"),
    "cut inside": (cut(inside=True), "NETWORK", "BASE_URL"),
    "a redirect": (reply(b"", 302), "REQUEST_REFUSED", "embedding model"),
    "another dimension": (vectors(32), "WRONG_DIMENSION", "zapomni reindex --embedder"),
    **{name: (fault, "MALFORMED_ANSWER", "embedding model") for name, fault in RUBBISH.items()},
}


@pytest.mark.parametrize("name", FAILURES)
async def test_each_failure_says_what_to_do_and_shows_no_secret(embedder, server, caplog, name):
    fault, code, advice = FAILURES[name]
    await embedder.embed([])
    server.always(fault)
    failure = await failure_of(embedder, ["the secret garden", "of Ada"])
    assert (failure.code, failure.subject) == (code, "Embedder")
    assert advice in failure.suggestion
    output = f"{failure} {caplog.text}"
    assert not [secret for secret in (KEY, "garden", "Ada", "own words", "Sign in") if secret in output]


async def test_a_quota_is_distinguished_from_a_rate_limit(make, server):
    server.always(refuse(429, code="insufficient_quota"))
    assert (await failure_of(make("openai"))).code == "QUOTA_EXCEEDED"


async def test_a_rate_limit_says_when_to_retry(embedder, server):
    server.always(refuse(429, retry_after="70"))
    failure = await failure_of(embedder)
    assert failure.retry_after_seconds == 70
    assert "70 seconds" in failure.message


async def test_a_stopped_ollama_and_a_missing_model_are_reported_with_the_commands(make, server):
    server.then(model_missing())
    assert "`ollama pull wise`" in (await failure_of(make("ollama"))).suggestion
    server.down()
    assert "`ollama serve`" in (await failure_of(make("ollama"))).suggestion


async def test_a_stalled_provider_ends_at_the_limit_of_the_settings_or_of_the_caller(make, server, protocol):
    server.always(stall())
    assert (await failure_of(make(protocol, timeout_seconds=0.2))).code == "TIMEOUT"
    with call_limit(0.2):
        assert (await failure_of(make(protocol))).code == "TIMEOUT"


async def test_after_two_failures_it_is_not_called_for_a_while(embedder, server):
    server.down()
    assert (await failure_of(embedder)).code == "NETWORK"
    server.up()
    assert (await failure_of(embedder)).code == "CIRCUIT_OPEN"
    assert server.count == 0


async def test_a_transient_failure_is_retried(embedder, server):
    server.then(cut())
    assert (await embedder.embed(["text"])).shape == (1, 64)


async def test_openai_itself_is_not_called_without_its_key(make, server):
    embedder = make("openai", base_url=None, api_key=None)
    failure = await failure_of(embedder)
    assert (failure.code, server.count) == ("INVALID_API_KEY", 0)
    assert "OPENAI_API_KEY" in failure.suggestion


async def test_a_redirect_does_not_take_the_key_elsewhere(make, server):
    with LLMServer(vectors(64)) as other:
        elsewhere = {"Location": f"{other.url}/v1/embeddings"}
        server.always(lambda _: LLMReply(307, b"{}", elsewhere))
        assert (await failure_of(make("openai"))).code == "REQUEST_REFUSED"
        assert other.count == 0


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x", "http://"])
def test_an_invalid_address_is_refused_with_its_setting(make, url):
    with pytest.raises(ConfigurationError, match="ZAPOMNI_EMBEDDING__OLLAMA__BASE_URL"):
        make("ollama", base_url=url)


async def test_cancelling_ends_the_requests(embedder, server):
    server.always(stall())
    work = asyncio.create_task(embedder.embed(["text"]))
    await asyncio.to_thread(server.wait_for, 1)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    server.always(vectors(64))
    assert (await embedder.embed(["text"])).shape == (1, 64)
