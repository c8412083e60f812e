"""The language model as a whole: settings, state, retries and closing."""

import asyncio
import contextlib
import socket
import subprocess
import sys

import pytest

from tests.unit.core.llm.questions import GOOD, KEY, ask, client_of, eventually, failure_of, llm_of, settings_of
from zapomni_core.errors import ConfigurationError, ProcessingError
from zapomni_core.http import Limits, call_limit
from zapomni_core.llm import LLM, LLMClient, endpoint_of
from zapomni_core.settings import LLMSettings
from zapomni_core.testing.llm_server import answer, cut, model_missing, refuse, say, stall

KEY_MESSAGE = "LLM API key is invalid. Check your OPENAI_API_KEY."


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, ("llm.provider", "ZAPOMNI_LLM__PROVIDER")),
        ({"provider": "ollama"}, ("llm.model", "ZAPOMNI_LLM__MODEL")),
        ({"provider": "openai", "model": " "}, ("llm.model", "ZAPOMNI_LLM__MODEL")),
    ],
    ids=["nothing", "no model", "a blank model"],
)
def test_a_missing_setting_is_named(settings, named):
    with pytest.raises(ConfigurationError) as caught:
        LLM(LLMSettings(**settings))
    assert all(name in str(caught.value) for name in named)


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://x", "http://", "http://x:99999", "http://[::1", "http://a\nb"]
)
def test_an_invalid_address_is_refused(url):
    with pytest.raises(ConfigurationError, match="ZAPOMNI_LLM__BASE_URL"):
        LLM(LLMSettings(provider="ollama", model="wise", base_url=url))


async def test_openai_itself_is_not_called_without_a_key():
    llm = LLM(LLMSettings(provider="openai", model="wise"))
    failure = await failure_of(llm)
    assert (failure.code, failure.message) == ("INVALID_API_KEY", KEY_MESSAGE)
    assert (failure.recoverable, llm.available, llm.unavailable) == (False, False, failure)
    assert "ZAPOMNI_LLM__API_KEY" in failure.suggestion
    assert await failure_of(LLMClient(endpoint_of(LLMSettings(provider="openai", model="wise")))) == failure
    await llm.close()


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines"])
async def test_a_key_that_cannot_be_sent_is_invalid_and_not_sent(server, protocol, key):
    llm = LLM(settings_of(server, protocol, api_key=key))
    variable = "OPENAI_API_KEY" if protocol == "openai" else "ZAPOMNI_LLM__API_KEY"
    assert (await failure_of(llm)).message == f"LLM API key is invalid. Check your {variable}."
    assert server.count == 0
    await llm.close()


async def test_a_server_that_speaks_openais_protocol_may_need_no_key(server, protocol):
    llm = LLM(settings_of(server, protocol, api_key=" "))
    assert await ask(llm) == GOOD
    assert "authorization" not in server.requests[0].headers
    await llm.close()


async def test_a_slash_at_the_end_of_the_address_does_not_matter(server):
    llm = LLM(settings_of(server, "ollama", base_url=f"{server.url}/"))
    assert await ask(llm) == GOOD
    await llm.close()


def test_its_state_can_be_shown(server):
    assert LLM(settings_of(server, "openai")).state == {
        "provider": "openai",
        "model": "wise",
        "state": "closed",
        "failures": 0,
        "retry_after_seconds": None,
        "available": True,
        "asked": 0,
        "problem": None,
        "error_code": None,
        "suggestion": None,
    }


def test_an_endpoint_does_not_show_the_key(server):
    assert KEY not in repr(endpoint_of(settings_of(server, "openai")))


def test_every_event_loop_has_connections_of_its_own(server):
    llm = LLM(settings_of(server, "ollama"))
    with asyncio.Runner() as first, asyncio.Runner() as second:
        assert [loop.run(ask(llm)) for loop in (first, second, first)] == [GOOD] * 3
        assert server.connections == 2
        first.run(llm.close())
        second.run(llm.close())


def test_a_client_works_again_in_the_next_event_loop(server):
    client = client_of(server, "ollama")

    async def ask_and_close():
        assert await ask(client) == GOOD
        await client.close()

    server.down()
    assert asyncio.run(failure_of(client)).code == "NETWORK"
    server.up()
    asyncio.run(ask_and_close())


async def test_closing_leaves_nothing(server, protocol):
    llm = LLM(settings_of(server, protocol))
    before = asyncio.all_tasks()
    await asyncio.gather(*(ask(llm) for _ in range(5)))
    await llm.close()
    assert asyncio.all_tasks() == before
    await eventually(lambda: server.connections == 0)


async def test_closing_ends_a_call_that_is_under_way(server, time):
    llm = llm_of(server, time)
    server.always(stall())
    call = asyncio.create_task(ask(llm))
    await asyncio.to_thread(server.wait_for, 1)
    await llm.close()
    with pytest.raises(ProcessingError, match="closed"):
        await call
    assert server.count == 1
    await eventually(lambda: server.connections == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue does not keep connections waiting")
async def test_closing_ends_a_call_that_is_still_connecting(time):
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        patient = Limits(total_seconds=1000, connect_seconds=1000)
        llm = LLM(LLMSettings(provider="ollama", model="wise", base_url=url), limits=patient, clock=time)
        call = asyncio.create_task(ask(llm))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not call.done()
        await llm.close()
        with pytest.raises(ProcessingError, match="closed"):
            await call


async def test_transient_failures_are_retried(build, server, time, protocol):
    server.then(refuse(503), cut())
    assert await ask(build(protocol=protocol)) == GOOD
    assert server.count == 3


async def test_an_answer_that_does_not_conform_is_asked_for_again(build, server):
    server.then(say("Sure!"), answer({"names": 5}))
    assert await ask(build()) == GOOD
    assert server.count == 3


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_retries_are_limited(build, server, time, retries):
    server.always(refuse(500))
    assert (await failure_of(build(retries=retries))).code == "SERVER_ERROR"
    assert server.count == 1 + retries
    assert len(time.slept) == retries


@pytest.mark.parametrize(
    "fault",
    [refuse(400), refuse(401), refuse(402), model_missing()],
    ids=["refused", "bad key", "no quota", "no model"],
)
async def test_permanent_failures_are_not_retried(build, server, time, fault):
    server.always(fault)
    await failure_of(build())
    assert (server.count, time.slept) == (1, [])


async def test_retry_delays_grow_and_are_randomised(build, server, time):
    server.always(refuse(500))
    await failure_of(
        build(retries=4, backoff_seconds=2, longest_backoff_seconds=8, open_after_failures=9, waiting_seconds=99)
    )
    for slept, longest in zip(time.slept, [2, 4, 8, 8], strict=True):
        assert longest / 2 <= slept <= longest


async def test_a_retry_waits_for_a_short_retry_after(build, server, time):
    server.then(refuse(429, retry_after="2"), refuse(503, retry_after="Sat, 01 Mar 2025 12:00:03 GMT"))
    assert await ask(build()) == GOOD
    assert time.slept == [2, 3]


@pytest.mark.parametrize("seconds", [6, 20, 120])
async def test_a_long_retry_after_is_reported_at_once(build, server, time, seconds):
    server.always(refuse(429, retry_after=str(seconds)))
    failure = await failure_of(build())
    assert failure.message == f"LLM rate limit exceeded. Retry in {seconds} seconds."
    assert failure.retry_after_seconds == seconds
    assert (server.count, time.slept) == (1, [])


async def test_the_waits_of_all_retries_are_limited_together(build, server, time):
    server.always(refuse(429, retry_after="2"))
    assert (await failure_of(build(retries=9, open_after_failures=99))).retry_after_seconds == 2
    assert time.slept == [2, 2]


async def test_a_caller_can_limit_the_time_of_its_questions(build, server, time):
    server.always(refuse(429, retry_after="2"))
    llm = build(retries=9, open_after_failures=99)
    with call_limit(3):
        await failure_of(llm)
    assert time.slept == [2]
    with call_limit(300):
        await failure_of(llm)
    assert time.slept == [2, 2, 2]


async def test_the_limit_counts_for_all_attempts_together(build, server, time):
    server.always(refuse(429, retry_after="25"))
    assert (await failure_of(build(retries=9, open_after_failures=99, waiting_seconds=99))).retry_after_seconds == 25
    assert time.slept == [25, 25]


async def test_a_transient_failure_has_a_retry_delay(build, server):
    server.always(refuse(429))
    failure = await failure_of(build(retries=0, backoff_seconds=4))
    assert 2 <= failure.retry_after_seconds <= 4
    assert failure.message in {f"LLM rate limit exceeded. Retry in {seconds} seconds." for seconds in (2, 3, 4)}


async def test_a_stalled_call_is_not_retried(server):
    llm = LLM(settings_of(server, "ollama"), limits=Limits(total_seconds=0.5, retries=5))
    server.always(stall())
    assert (await failure_of(llm)).code == "TIMEOUT"
    assert server.count <= 1
    await llm.close()


async def test_the_limit_is_a_setting(server):
    llm = LLM(settings_of(server, "ollama", timeout_seconds=0.5))
    server.always(stall())
    assert (await failure_of(llm)).code == "TIMEOUT"
    await llm.close()


def test_importing_and_building_it_load_no_http_library():
    code = (
        "import sys; from zapomni_core.llm import LLM; from zapomni_core.settings import LLMSettings;"
        "LLM(LLMSettings(provider='ollama', model='wise'));"
        "print(*({'httpx', 'httpcore', 'anyio', 'jsonschema'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
