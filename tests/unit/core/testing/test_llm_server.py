"""The language model server of the kit, with a plain HTTP client."""

import json
import urllib.error
import urllib.request

import pytest

from zapomni_core.testing import llm_server
from zapomni_core.testing.llm_server import LLMServer, answer, refuse, stall

BODY = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    """Keep requests to the local server off any proxy of the developer."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def server():
    with LLMServer(answer({"names": ["Ada"]})) as server:
        yield server


def post(server, path="/api/chat"):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(server.url + path, BODY), timeout=30) as response:
        return json.load(response)


def test_queued_replies_come_in_order_before_the_standing_one(server):
    server.then(answer(1), refuse(503))
    assert post(server)["message"]["content"] == "1"
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(server)
    assert caught.value.code == 503
    caught.value.close()
    assert post(server, "/v1/chat/completions")["choices"][0]["message"]["content"] == '{"names": ["Ada"]}'
    assert [request.prompt for request in server.requests] == ["hello"] * 3


def test_a_new_standing_reply_takes_the_place_of_all_others(server):
    server.then(refuse(503))
    server.always(answer(2))
    assert post(server)["message"]["content"] == "2"


def test_it_comes_up_again_on_the_same_port(server):
    url = server.url
    for _ in range(3):
        server.down()
        server.down()
        with pytest.raises(urllib.error.URLError):
            post(server)
        server.up()
        assert server.url == url
        assert post(server)


def test_it_ends_while_a_request_stalls():
    with LLMServer(stall()) as server:
        connection = urllib.request.Request(server.url + "/api/chat", BODY)
        with pytest.raises(OSError, match="timed out"):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(connection, timeout=0.1)
    assert server.connections == 0


def test_waiting_for_a_request_that_does_not_come_ends(server, monkeypatch):
    monkeypatch.setattr(llm_server, "_WAIT_SECONDS", 0.05)
    with pytest.raises(TimeoutError, match="0 of 1 requests came"):
        server.wait_for(1)
