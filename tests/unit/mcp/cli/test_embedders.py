"""`zapomni embedders`."""

import pytest

from zapomni_core.testing.llm_server import LLMServer, vectors


@pytest.fixture
def listed(document):
    return lambda: {one["name"]: one for one in document("embedders")["embedders"]}


@pytest.fixture(autouse=True)
def _nothing_on_the_network(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_each_embedder_is_tried_and_shown_with_its_speed(listed):
    found = listed()
    assert {"default", "ollama", "openai", "hashing", "another"} <= set(found)
    hashing = found["hashing"]
    assert (hashing["state"], hashing["model"], hashing["dimension"]) == ("answers", "hashing-256", 256)
    assert hashing["query_ms"] >= 0
    assert hashing["passages_ms"] > 0
    assert "Start Ollama" in found["ollama"]["state"]
    assert "OPENAI_API_KEY" in found["openai"]["state"]
    assert "'misnamed' of plugin 'embedders'" in found["misnamed"]["state"]


def test_the_embedder_in_use_is_marked(listed, remember, monkeypatch):
    assert [name for name, one in listed().items() if one["use"]] == ["hashing"]
    remember("word")
    assert listed()["hashing"]["use"] == "by this workspace"


def test_an_endpoint_is_not_tried_with_texts_of_memories(listed, remember, monkeypatch):
    remember("sesame")
    with LLMServer(vectors(64)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.setenv("ZAPOMNI_EMBEDDING__OLLAMA__BASE_URL", server.url)
        found = listed()["ollama"]
        assert (found["state"], found["dimension"]) == ("answers", 64)
        assert server.count > 0
        assert not [request for request in server.requests if "sesame" in request.prompt]


def test_embedders_are_listed_as_a_table(zapomni):
    heading, *rows = zapomni("embedders").stdout.splitlines()
    assert heading.split()[:3] == ["NAME", "MODEL", "DIMENSION"]
    assert any(row.startswith("hashing") and row.endswith("answers") for row in rows)
