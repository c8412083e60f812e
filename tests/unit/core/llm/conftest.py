import pytest

from tests.unit.core.llm.questions import GOOD, Time, client_of, llm_of
from zapomni_core.testing.llm_server import LLMServer, answer


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    """Keep requests to the local server off any proxy of the developer."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def server():
    with LLMServer(answer(GOOD)) as server:
        yield server


@pytest.fixture(params=["ollama", "openai"])
def protocol(request):
    return request.param


@pytest.fixture
async def client(server, protocol):
    client = client_of(server, protocol)
    yield client
    await client.close()


@pytest.fixture
def time():
    return Time()


@pytest.fixture
async def build(server, time):
    """Makes language models that are closed after the test."""
    made = []

    def build(**choices):
        made.append(llm_of(server, time, **choices))
        return made[-1]

    yield build
    for llm in made:
        await llm.close()
