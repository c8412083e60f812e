"""Questions over each protocol, and their failures."""

import json
import threading
import traceback

import pytest

from tests.unit.core.llm.questions import (
    GOOD,
    KEY,
    NOON,
    PROMPT,
    SCHEMA,
    ask,
    client_of,
    eventually,
    failure_of,
    settings_of,
)
from zapomni_core.errors import LLMUnavailableError, ProcessingError
from zapomni_core.http.client import LONGEST_REPLY
from zapomni_core.llm import LLMClient, LLMErrorClassifier, endpoint_of
from zapomni_core.testing.llm_server import LLMServer, answer, cut, model_missing, refuse, reply, say, stall

KEY_MESSAGE = "LLM API key is invalid. Check your {}."
VARIABLES = {"openai": "OPENAI_API_KEY", "ollama": "ZAPOMNI_LLM__API_KEY"}
NETWORK_MESSAGE = "Cannot reach LLM provider. Check network connection."
MALFORMED_MESSAGE = "LLM answer is not the JSON that was asked for. Try again, or use another model."
REFUSED = "LLM provider refused the request (HTTP {}). Check your ZAPOMNI_LLM__BASE_URL and ZAPOMNI_LLM__MODEL."
MALFORMED = {
    "no JSON at all": reply(b"<html>Sign in to the hotel's network</html>"),
    "no bytes at all": reply(b""),
    "bytes that are no text": reply(b"\xff\xfe\x00"),
    "JSON of another shape": reply(b'{"choices": [], "message": 5}'),
    "a list": reply(b"[]"),
    "no text": say(None),
    "text that is not JSON": say("Here are the names: Ada"),
    "half of an object": say('{"names": ["A'),
    "a JSON list": answer(["Ada"]),
    "an object that does not conform": answer({"names": [5]}),
    "an object that lacks a key": answer({}),
    "an object too deep to read": say('{"names": ' + "[" * 100_000),
    "half a character": say(r'{"names": ["\ud800"]}'),
}
FAILURES = {
    "401": (refuse(401), "INVALID_API_KEY", KEY_MESSAGE, None),
    "403": (refuse(403), "INVALID_API_KEY", KEY_MESSAGE, None),
    "429 for seconds": (
        refuse(429, retry_after="7"),
        "RATE_LIMIT",
        "LLM rate limit exceeded. Retry in 7 seconds.",
        7,
    ),
    "429 until a date": (
        refuse(429, retry_after="Sat, 01 Mar 2025 12:01:30 GMT"),
        "RATE_LIMIT",
        "LLM rate limit exceeded. Retry in 90 seconds.",
        90,
    ),
    "429 for an unknown time": (refuse(429), "RATE_LIMIT", "LLM rate limit exceeded. Retry later.", None),
    "500": (refuse(500), "SERVER_ERROR", "LLM provider failed (HTTP 500). Try again later.", None),
    "503 for seconds": (
        refuse(503, retry_after="3"),
        "SERVER_ERROR",
        "LLM provider failed (HTTP 503). Try again later.",
        3,
    ),
    "408": (refuse(408), "TIMEOUT", "LLM did not answer in time. Try again later.", None),
    "400": (refuse(400), "REQUEST_REFUSED", REFUSED.format(400), None),
    "302": (reply(b"", 302), "REQUEST_REFUSED", REFUSED.format(302), None),
    "404 of no provider": (reply(b"404 page not found", 404), "REQUEST_REFUSED", REFUSED.format(404), None),
    "no model": (
        model_missing(),
        "MODEL_MISSING",
        "LLM provider has no model wise. Check your ZAPOMNI_LLM__MODEL.",
        None,
    ),
    "cut before the headers": (cut(), "NETWORK", NETWORK_MESSAGE, None),
    "cut inside the body": (cut(inside=True), "NETWORK", NETWORK_MESSAGE, None),
    **{name: (fault, "MALFORMED_ANSWER", MALFORMED_MESSAGE, None) for name, fault in MALFORMED.items()},
}
PERMANENT = {"INVALID_API_KEY", "QUOTA_EXCEEDED", "MODEL_MISSING", "REQUEST_REFUSED"}


async def test_the_answer_is_the_object_that_the_model_gave(client):
    assert await ask(client) == GOOD


async def test_ollama_is_asked_for_the_schema_in_its_own_way(server):
    client = client_of(server, "ollama")
    await ask(client)
    await client.close()
    (request,) = server.requests
    assert request.path == "/api/chat"
    assert request.body == {
        "model": "wise",
        "messages": [{"role": "system", "content": "Find the names."}, {"role": "user", "content": PROMPT}],
        "stream": False,
        "format": SCHEMA,
        "options": {"temperature": 0},
    }


async def test_openai_is_asked_for_the_schema_in_its_own_way(server):
    client = client_of(server, "openai")
    await ask(client)
    await client.close()
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "wise",
        "messages": [{"role": "system", "content": "Find the names."}, {"role": "user", "content": PROMPT}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"names": {}}},
        {"type": "object", "properties": {"names": {}}, "additionalProperties": False},
        {**SCHEMA, "properties": {"names": {"anyOf": [{"type": "array"}, {"type": "object"}]}}},
    ],
    ids=["open", "with an optional key", "open inside"],
)
async def test_openai_is_not_bound_to_a_schema_that_it_would_refuse(server, schema):
    client = client_of(server, "openai")
    await client.ask(PROMPT, system="", schema=schema)
    await client.close()
    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is False


async def test_the_key_goes_into_the_header(client, server):
    await ask(client)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_an_answer_in_code_fences_is_parsed(client, server):
    server.then(say(f"```json\n{json.dumps(GOOD)}\n```"))
    assert await ask(client) == GOOD


@pytest.mark.parametrize(
    "around",
    [
        "<think>\nNames {like} these?\n</think>\n\n{}",
        "<think>hm</think>```json\n{}\n```",
        "Here you are:\n```json\n{}\n```\nAnything else?",
        "```{}```",
        "Sure! {}",
        "{}\nLet me know!",
        "\ufeff{}",
    ],
)
async def test_text_around_the_object_is_ignored(client, server, around):
    server.then(say(around.replace("{}", json.dumps(GOOD))))
    assert await ask(client) == GOOD


async def test_a_fence_within_the_object_is_part_of_it(client, server):
    said = {"names": ["```json\n{}\n```"]}
    server.then(answer(said))
    assert await ask(client) == said


async def test_an_endless_reply_is_cut_off(client, server):
    message = {"content": json.dumps(GOOD)}
    said = json.dumps({"message": message, "choices": [{"message": message}]}).encode()
    server.then(reply(said), reply(said + b" " * LONGEST_REPLY))
    assert await ask(client) == GOOD
    assert (await failure_of(client)).code == "MALFORMED_ANSWER"
    assert await ask(client) == GOOD


async def test_a_refusal_is_read_in_another_thread_than_that_of_the_event_loop(server, protocol):
    readers = set()

    def now():
        readers.add(threading.get_ident())
        return NOON

    endpoint = endpoint_of(settings_of(server, protocol))
    client = LLMClient(endpoint, classifier=LLMErrorClassifier(endpoint, now=now))
    server.always(refuse(429, retry_after="Sat, 01 Mar 2025 12:01:30 GMT"))
    assert (await failure_of(client)).code == "RATE_LIMIT"
    await client.close()
    assert readers
    assert threading.get_ident() not in readers


async def test_an_undecodable_header_does_not_hide_the_status(client, server):
    server.then(refuse(429, retry_after="\xff"))
    assert (await failure_of(client)).code == "RATE_LIMIT"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1080"),
        ("HTTP_PROXY", "ftp://127.0.0.1"),
        ("SSL_CERT_FILE", "/nowhere/at/all.pem"),
        ("NO_PROXY", "[::1"),
    ],
)
async def test_an_unusable_environment_is_reported(client, server, monkeypatch, name, value):
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv(name, value)
    failure = await failure_of(client)
    assert (failure.code, failure.recoverable, failure.concerns_provider) == ("NETWORK", False, True)
    assert name in failure.suggestion


async def test_a_prompt_with_a_lone_surrogate_is_sent(client, server):
    assert await client.ask("\ud800", system="", schema=SCHEMA) == GOOD
    assert server.requests[0].prompt == "\ud800"


async def test_one_connection_serves_many_questions(client, server):
    for _ in range(3):
        await ask(client)
    assert server.connections == 1


@pytest.mark.parametrize("name", FAILURES)
async def test_a_fault_is_classified(client, server, name, protocol):
    fault, code, message, retry_after = FAILURES[name]
    message = message.format(VARIABLES[protocol]) if message == KEY_MESSAGE else message
    server.always(fault)
    failure = await failure_of(client)
    assert (failure.code, failure.message, failure.retry_after_seconds) == (code, message, retry_after)
    assert failure.recoverable is failure.transient is (code not in PERMANENT)
    assert failure.suggestion
    assert server.count == 1


async def test_an_answer_too_deep_to_check_is_malformed(client, server):
    server.always(say('{"a": ' * 400 + "{}" + "}" * 400))
    with pytest.raises(LLMUnavailableError) as caught:
        await client.ask(PROMPT, system="", schema={"type": "object", "properties": {"a": {"$ref": "#"}}})
    assert caught.value.failure.code == "MALFORMED_ANSWER"


async def test_an_exceeded_quota_names_the_provider(client, server):
    server.always(refuse(402))
    failure = await failure_of(client)
    assert failure.code == "QUOTA_EXCEEDED"
    assert failure.message == f"LLM quota exceeded. Check billing at {server.url}."
    assert not failure.recoverable
    assert not failure.transient


async def test_a_429_for_missing_credit_is_not_a_rate_limit(server):
    client = client_of(server, "openai")
    server.always(refuse(429, code="insufficient_quota", retry_after="5"))
    assert (await failure_of(client)).code == "QUOTA_EXCEEDED"
    await client.close()


async def test_a_model_that_the_key_may_not_use_is_missing(server):
    client = client_of(server, "openai")
    server.always(refuse(403, code="model_not_found"))
    assert (await failure_of(client)).code == "MODEL_MISSING"
    await client.close()


async def test_ollama_can_fetch_a_missing_model(server):
    client = client_of(server, "ollama")
    server.always(model_missing())
    assert (await failure_of(client)).suggestion == "Run `ollama pull wise`, or name a model that the provider has."
    await client.close()


async def test_a_server_that_is_down_cannot_be_reached_and_one_that_is_up_again_can(client, server):
    await ask(client)
    server.down()
    assert (await failure_of(client)).message == NETWORK_MESSAGE
    server.up()
    assert await ask(client) == GOOD


async def test_a_stall_ends_at_the_limit(server, protocol):
    client = client_of(server, protocol, total_seconds=0.3)
    server.always(stall())
    failure = await failure_of(client)
    assert (failure.code, failure.transient) == ("TIMEOUT", True)
    await client.close()


@pytest.mark.parametrize("name", FAILURES)
async def test_errors_and_logs_reveal_neither_key_nor_prompt_nor_provider_text(client, server, name, caplog):
    server.always(FAILURES[name][0])
    with caplog.at_level("DEBUG", "zapomni"), pytest.raises(LLMUnavailableError) as caught:
        await ask(client)
    output = "".join(traceback.format_exception(caught.value)) + repr(caught.value.failure) + caplog.text
    assert not [secret for secret in (KEY, "sesame", "own words", "hotel", "Ada") if secret in output]


async def test_closing_leaves_no_connection(server, protocol):
    client = client_of(server, protocol)
    await ask(client)
    assert server.connections == 1
    await client.close()
    await client.close()
    await eventually(lambda: server.connections == 0)


async def test_a_closed_client_connects_no_more(client, server):
    await client.close()
    with pytest.raises(ProcessingError, match="closed"):
        await ask(client)
    assert server.count == 0


async def test_the_stand_in_answers_by_what_was_asked():
    with LLMServer(answer(lambda request: {"names": [request.prompt]})) as server:
        client = client_of(server, "ollama")
        assert await ask(client) == {"names": [PROMPT]}
        await client.close()
