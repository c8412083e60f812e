"""What may pass is tried again, within the limits."""

import pytest

from tests.unit.core.llm.asking import GOOD, ask, failure_of, settings_of
from zapomni_core.llm import LLM, Limits
from zapomni_core.llm.patience import patience
from zapomni_core.testing.llm_server import answer, cut, model_missing, refuse, say, stall


async def test_what_passes_is_not_noticed(build, server, time, protocol):
    server.then(refuse(503), cut())
    assert await ask(build(protocol=protocol)) == GOOD
    assert server.count == 3


async def test_an_answer_that_does_not_conform_is_asked_for_again(build, server):
    server.then(say("Sure!"), answer({"names": 5}))
    assert await ask(build()) == GOOD
    assert server.count == 3


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_it_is_tried_so_many_times_and_no_more(build, server, time, retries):
    server.always(refuse(500))
    assert (await failure_of(build(retries=retries))).code == "SERVER_ERROR"
    assert server.count == 1 + retries
    assert len(time.slept) == retries


@pytest.mark.parametrize(
    "fault",
    [refuse(400), refuse(401), refuse(402), model_missing()],
    ids=["refused", "bad key", "no quota", "no model"],
)
async def test_what_does_not_pass_is_not_tried_again(build, server, time, fault):
    server.always(fault)
    await failure_of(build())
    assert (server.count, time.slept) == (1, [])


async def test_waits_grow_and_have_some_chance_in_them(build, server, time):
    server.always(refuse(500))
    await failure_of(
        build(retries=4, backoff_seconds=2, longest_backoff_seconds=8, open_after_failures=9, waiting_seconds=99)
    )
    for slept, longest in zip(time.slept, [2, 4, 8, 8], strict=True):
        assert longest / 2 <= slept <= longest


async def test_a_short_retry_after_is_waited_for(build, server, time):
    server.then(refuse(429, retry_after="2"), refuse(503, retry_after="Sat, 01 Mar 2025 12:00:03 GMT"))
    assert await ask(build()) == GOOD
    assert time.slept == [2, 3]


@pytest.mark.parametrize("seconds", [6, 20, 120])
async def test_a_retry_after_that_is_too_long_is_told_at_once(build, server, time, seconds):
    server.always(refuse(429, retry_after=str(seconds)))
    failure = await failure_of(build())
    assert failure.message == f"LLM rate limit exceeded. Retry in {seconds} seconds."
    assert failure.retry_after_seconds == seconds
    assert (server.count, time.slept) == (1, [])


async def test_whoever_asks_waits_for_so_long_in_all_and_no_longer(build, server, time):
    server.always(refuse(429, retry_after="2"))
    assert (await failure_of(build(retries=9, open_after_failures=99))).retry_after_seconds == 2
    assert time.slept == [2, 2]


async def test_whoever_has_less_patience_is_told_sooner(build, server, time):
    server.always(refuse(429, retry_after="2"))
    llm = build(retries=9, open_after_failures=99)
    with patience(3):
        await failure_of(llm)
    assert time.slept == [2]
    with patience(300):
        await failure_of(llm)
    assert time.slept == [2, 2, 2]


async def test_the_limit_counts_for_all_attempts_together(build, server, time):
    server.always(refuse(429, retry_after="25"))
    assert (await failure_of(build(retries=9, open_after_failures=99, waiting_seconds=99))).retry_after_seconds == 25
    assert time.slept == [25, 25]


async def test_a_failure_that_may_pass_says_when_to_try_again(build, server):
    server.always(refuse(429))
    failure = await failure_of(build(retries=0, backoff_seconds=4))
    assert 2 <= failure.retry_after_seconds <= 4
    assert failure.message in {f"LLM rate limit exceeded. Retry in {seconds} seconds." for seconds in (2, 3, 4)}


async def test_a_stall_is_not_waited_for_twice(server):
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
