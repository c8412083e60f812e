"""A question, a clock and models that the tests of the language model share."""

import asyncio
from datetime import UTC, datetime

import pytest

from zapomni_core.errors import LLMUnavailableError
from zapomni_core.http import Limits
from zapomni_core.llm import LLM, LLMClient, LLMErrorClassifier, endpoint_of
from zapomni_core.settings import LLMSettings

PROMPT = "Ada keeps a sesame in the garden"
KEY = "sk-hunter2"
SCHEMA = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": {"type": "string"}}},
    "required": ["names"],
    "additionalProperties": False,
}
GOOD = {"names": ["Ada"]}
NOON = datetime(2025, 3, 1, 12, 0, tzinfo=UTC)


class Time:
    """A clock that advances only when `sleep` is called, and records the waits."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def settings_of(server, protocol, **changes):
    base_url = server.url if protocol == "ollama" else f"{server.url}/v1"
    return LLMSettings(**{"provider": protocol, "model": "wise", "base_url": base_url, "api_key": KEY} | changes)


def client_of(server, protocol, **limits):
    endpoint = endpoint_of(settings_of(server, protocol))
    return LLMClient(endpoint, Limits(**limits), classifier=LLMErrorClassifier(endpoint, now=lambda: NOON))


def llm_of(server, time, protocol="ollama", **limits):
    settings = settings_of(server, protocol)
    return LLM(settings, limits=Limits(**limits), clock=time, sleep=time.sleep, now=lambda: NOON)


async def ask(who):
    return await who.ask(PROMPT, system="Find the names.", schema=SCHEMA)


async def failure_of(who):
    """The failure of a call that must fail."""
    with pytest.raises(LLMUnavailableError) as caught:
        await ask(who)
    assert str(caught.value) == caught.value.failure.message
    return caught.value.failure


async def eventually(holds):
    """Wait until it holds; the time limit of the test is the limit."""
    while not holds():  # noqa: ASYNC110 (what is waited for happens in other threads)
        await asyncio.sleep(0.01)
