"""Real calls open the breaker, one call probes it, and a success closes it."""

import asyncio

import pytest

from tests.unit.core.llm.questions import GOOD, ask, failure_of
from zapomni_core.errors import LLMUnavailableError
from zapomni_core.testing.llm_server import answer, cut, model_missing, refuse, reply, stall


@pytest.fixture
def llm(build):
    return build(retries=0)


async def opened(llm, server, fault=None):
    """The same, after failures enough to open it."""
    server.always(fault or refuse(503))
    for _ in range(5):
        await failure_of(llm)
    return llm


def stands(llm):
    return llm.state["state"], llm.state["failures"]


async def test_five_failures_in_a_row_open_it(llm, server):
    server.always(cut())
    for failures in range(1, 5):
        await failure_of(llm)
        assert (*stands(llm), llm.available) == ("closed", failures, True)
    failure = await failure_of(llm)
    assert (failure.code, failure.retry_after_seconds) == ("NETWORK", 30)
    assert (*stands(llm), llm.available) == ("open", 5, False)


async def test_a_success_in_between_starts_the_count_again(llm, server):
    server.then(*[refuse(500)] * 4)
    for _ in range(4):
        await failure_of(llm)
    await ask(llm)
    assert stands(llm) == ("closed", 0)


async def test_no_call_is_made_while_it_is_open(llm, server, time):
    await opened(llm, server)
    server.always(answer(GOOD))
    time.now += 10
    failure = await failure_of(llm)
    assert failure.code == "CIRCUIT_OPEN"
    assert "20 seconds" in failure.message
    assert "SERVER_ERROR" in failure.message
    assert (failure.retry_after_seconds, failure.recoverable, failure.transient) == (20, True, True)
    assert llm.unavailable == failure
    assert llm.state["retry_after_seconds"] == 20
    assert server.count == 5


async def test_it_closes_when_the_first_call_after_the_cool_down_succeeds(llm, server, time):
    await opened(llm, server)
    server.always(answer(GOOD))
    time.now += 30
    assert (stands(llm), llm.available) == (("half_open", 5), True)
    assert await ask(llm) == GOOD
    assert stands(llm) == ("closed", 0)
    assert llm.state["retry_after_seconds"] is None


async def test_it_opens_again_when_the_first_call_after_the_cool_down_fails(build, server, time):
    llm = await opened(build(retries=0), server)
    time.now += 30
    assert (await failure_of(llm)).code == "SERVER_ERROR"
    assert stands(llm) == ("open", 6)
    assert (await failure_of(llm)).code == "CIRCUIT_OPEN"
    assert server.count == 6


async def test_a_probe_that_fails_is_not_tried_again(build, server, time):
    llm = build(retries=2, open_after_failures=1)
    server.always(refuse(503))
    await failure_of(llm)
    assert server.count == 1
    time.now += 30
    await failure_of(llm)
    assert server.count == 2


async def test_retries_stop_when_it_opens(build, server):
    llm = build(retries=9, open_after_failures=3)
    server.always(refuse(503))
    assert (await failure_of(llm)).code == "SERVER_ERROR"
    assert server.count == 3


async def test_one_call_of_many_is_the_probe(llm, server, time):
    await opened(llm, server)
    server.always(stall(answer(GOOD)))
    time.now += 30
    calls = [asyncio.create_task(ask(llm)) for _ in range(20)]
    await asyncio.to_thread(server.wait_for, 6)
    refused = [call.exception().failure for call in calls if call.done()]
    assert [(failure.code, failure.retry_after_seconds) for failure in refused] == [("CIRCUIT_OPEN", 1)] * 19
    assert not llm.available
    (probe,) = [call for call in calls if not call.done()]
    server.release()
    assert await probe == GOOD
    assert stands(llm) == ("closed", 0)
    assert server.count == 6


async def test_a_cancelled_probe_leaves_its_place_to_another(llm, server, time):
    await opened(llm, server)
    server.always(stall())
    time.now += 30
    probe = asyncio.create_task(ask(llm))
    await asyncio.to_thread(server.wait_for, 6)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert (stands(llm), llm.available) == (("half_open", 5), True)
    server.always(answer(GOOD))
    assert await ask(llm) == GOOD


async def test_a_cancelled_call_counts_for_nothing(llm, server):
    server.then(refuse(500), stall())
    await failure_of(llm)
    call = asyncio.create_task(ask(llm))
    await asyncio.to_thread(server.wait_for, 2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert stands(llm) == ("closed", 1)


async def test_many_failures_at_once_open_it_once(llm, server, time):
    server.always(stall(refuse(503)))
    calls = [asyncio.create_task(ask(llm)) for _ in range(20)]
    await asyncio.to_thread(server.wait_for, 20)
    server.release()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(result) for result in results} == {LLMUnavailableError}
    assert stands(llm) == ("open", 5)
    server.always(answer(GOOD))
    time.now += 30
    assert await ask(llm) == GOOD


async def test_a_call_that_began_before_it_opened_does_not_close_it(llm, server):
    server.then(stall(answer(GOOD)))
    early = asyncio.create_task(ask(llm))
    await asyncio.to_thread(server.wait_for, 1)
    await opened(llm, server)
    server.release()
    assert await early == GOOD
    assert stands(llm) == ("open", 5)


@pytest.mark.parametrize("fault", [refuse(401), refuse(402), model_missing()], ids=["key", "quota", "model"])
async def test_a_permanent_failure_opens_it_at_once(llm, server, time, fault):
    server.always(fault)
    first = await failure_of(llm)
    second = await failure_of(llm)
    assert (second.code, second.suggestion) == ("CIRCUIT_OPEN", first.suggestion)
    assert (second.recoverable, second.transient) == (False, False)
    assert server.count == 1
    server.always(answer(GOOD))
    time.now += 30
    assert await ask(llm) == GOOD


@pytest.mark.parametrize("fault", [refuse(400), answer({})], ids=["refused", "malformed"])
async def test_a_failure_about_one_request_keeps_it_closed(llm, server, fault):
    server.then(*[refuse(500)] * 4, *[fault] * 9)
    for _ in range(13):
        await failure_of(llm)
    assert (stands(llm), server.count) == (("closed", 0), 13)


@pytest.mark.parametrize("status", [301, 404, 405])
async def test_an_address_where_no_provider_is_opens_it_at_once(llm, server, status):
    server.always(reply(b"nothing here", status))
    assert (await failure_of(llm)).code == "REQUEST_REFUSED"
    assert ((await failure_of(llm)).code, server.count) == ("CIRCUIT_OPEN", 1)


async def test_a_page_instead_of_an_answer_counts_against_the_provider(llm, server):
    server.always(reply(b" <html>Sign in to the hotel's network</html>"))
    for _ in range(5):
        assert (await failure_of(llm)).code == "MALFORMED_ANSWER"
    assert ((await failure_of(llm)).code, server.count) == ("CIRCUIT_OPEN", 5)


async def test_a_long_retry_after_keeps_it_open_longer(llm, server, time):
    await opened(llm, server, refuse(429, retry_after="100"))
    time.now += 99
    failure = await failure_of(llm)
    assert (failure.code, "1 second " in failure.message, "RATE_LIMIT" in failure.message) == (
        "CIRCUIT_OPEN",
        True,
        True,
    )
    time.now += 1
    assert llm.available


async def test_a_provider_that_names_a_long_time_is_not_asked_before_it(llm, server, time):
    server.always(refuse(429, retry_after="25"))
    failure = await failure_of(llm)
    assert (failure.code, failure.retry_after_seconds) == ("RATE_LIMIT", 25)
    assert (*stands(llm), llm.available, llm.state["retry_after_seconds"]) == ("open", 1, False, 25)
    assert (await failure_of(llm)).code == "CIRCUIT_OPEN"
    assert server.count == 1
    time.now += 25
    server.always(answer(GOOD))
    await ask(llm)
    assert (stands(llm), server.count) == (("closed", 0), 2)


async def test_a_short_retry_after_does_not_hide_the_cool_down(llm, server):
    server.always(refuse(429, retry_after="5"))
    waits = [(await failure_of(llm)).retry_after_seconds for _ in range(5)]
    assert waits == [5, 5, 5, 5, 30]


async def test_an_endless_retry_after_does_not_keep_it_open_for_ever(llm, server, time):
    await opened(llm, server, refuse(503, retry_after="999999999"))
    time.now += 3600
    assert llm.available


async def test_opening_and_closing_are_logged(llm, server, time, caplog):
    with caplog.at_level("INFO", "zapomni.http"):
        await opened(llm, server)
        server.always(answer(GOOD))
        time.now += 30
        await ask(llm)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "SERVER_ERROR" in caplog.messages[0]
