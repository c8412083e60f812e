"""Fixtures that run the plugin with a real store, three-dimensional vectors and an embedder that a test can break."""

import pytest
import zapomni_plugin_sessions

from zapomni_core.plugin import ProcessingError, Provider, hookimpl
from zapomni_core.testing import HashingEmbedder


class BrittleEmbedder(HashingEmbedder):
    """An embedder that fails while `broken` is set."""

    broken = False

    async def embed(self, texts, **options):
        if self.broken:
            raise ProcessingError("the embedder cannot read its weights")
        return await super().embed(texts, **options)


class Parts:
    """A plugin that offers the embedder."""

    def __init__(self):
        self.embedder = BrittleEmbedder(name="brittle")

    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="embedder", name="brittle", factory=lambda _: self.embedder)]


@pytest.fixture
def parts():
    return Parts()


@pytest.fixture
async def app(run_plugin, parts, tmp_path):
    settings = {
        "store": f"sqlite://{tmp_path}/memory.db",
        "embedder": "brittle",
        "plugins": {"sessions": {"embedding_dimension": 3}},
    }
    return await run_plugin(zapomni_plugin_sessions, parts, name="sessions", settings=settings)


@pytest.fixture
def ask(app):
    """Calls a tool, which must succeed; returns the structured answer."""

    async def call(tool, **arguments):
        result = await app.call(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    return call


@pytest.fixture
def problem(app):
    """Calls a tool, which must reject its arguments; returns the message."""

    async def call(tool, **arguments):
        result = await app.call(tool, arguments)
        record = result["structuredContent"]
        assert (result["isError"], record["error_type"], record["status_code"]) == (True, "validation", 400)
        return record["message"]

    return call
