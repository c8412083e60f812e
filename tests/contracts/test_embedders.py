"""The embedders of Zapomni keep the contract of embedders. That of the plugin fastembed is tested with the plugin."""

import pytest

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.memory.components import CheckedEmbedder
from zapomni_core.providers import BUILT_IN, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing import EmbedderContract, HashingEmbedder, RemoteEmbedderContract
from zapomni_core.testing.llm_server import LLMServer, stall, vectors

FAULTS = {
    "slow": stall(),
    "another dimension": vectors(32),
    "not a number": vectors(64, lambda rows: [[float("nan")] * 64 for _ in rows]),
    "too few": vectors(64, lambda rows: rows[1:]),
    "too many": vectors(64, lambda rows: [*rows, rows[0]]),
}


class TestDefault(EmbedderContract):
    name = "default"

    @pytest.fixture
    async def embedder(self):
        embedder = CheckedEmbedder(DefaultEmbedder())
        yield embedder
        await embedder.close()


class TestHashing(EmbedderContract):
    name = "hashing"

    @pytest.fixture
    def embedder(self):
        return HashingEmbedder()


class OnTheNetwork(RemoteEmbedderContract):
    @pytest.fixture
    def server(self, monkeypatch):
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        with LLMServer(vectors(64)) as server:
            yield server

    @pytest.fixture
    async def embedder(self, server):
        base_url = server.url if self.name == "ollama" else f"{server.url}/v1"
        settings = Settings.model_validate({"embedding": {self.name: {"base_url": base_url, "model": "wise"}}})
        embedder = CheckedEmbedder(Providers(BUILT_IN).make("embedder", self.name, settings))
        yield embedder
        await embedder.close()

    @pytest.fixture
    def misbehave(self, server):
        return lambda fault: server.down() if fault == "away" else server.always(FAULTS[fault])


class TestOllama(OnTheNetwork):
    name = "ollama"


class TestOpenAI(OnTheNetwork):
    name = "openai"
