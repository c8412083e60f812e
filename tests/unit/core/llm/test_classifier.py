"""Statuses, headers and errors become failures."""

import httpx
import pytest

from tests.unit.core.llm.questions import NOON
from zapomni_core.llm import LLMErrorClassifier, endpoint_of
from zapomni_core.settings import LLMSettings


def classifier(**settings):
    endpoint = endpoint_of(LLMSettings(**{"provider": "openai", "model": "wise"} | settings))
    return LLMErrorClassifier(endpoint, now=lambda: NOON)


def limited(retry_after):
    return classifier().classify(httpx.Response(429, headers={"Retry-After": retry_after}))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        (" 12 ", 12),
        ("1.5", 1.5),
        ("999999999", 86_400),
        ("Sat, 01 Mar 2025 12:00:10 GMT", 10),
        ("Sat, 01 Mar 2025 12:00:10 -0000", 10),
        ("Sat, 01 Mar 2025 11:00:00 GMT", 0),
        ("Sat, 01 Mar 2036 12:00:00 GMT", 86_400),
        ("9" * 30, 86_400),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("-5", None),
        ("nan", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, seconds):
    assert limited(text).retry_after_seconds == seconds


def test_a_date_that_is_over_asks_for_no_wait():
    usual = LLMErrorClassifier(endpoint_of(LLMSettings(provider="openai", model="wise")))
    response = httpx.Response(429, headers={"Retry-After": "Sat, 01 Mar 2025 12:00:00 GMT"})
    assert usual.classify(response).retry_after_seconds == 0


def test_a_wait_is_shown_in_whole_seconds():
    assert limited("1.2").message == "LLM rate limit exceeded. Retry in 2 seconds."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (httpx.ConnectError("refused"), "NETWORK"),
        (httpx.ConnectTimeout("slow"), "NETWORK"),
        (httpx.ProxyError("none"), "NETWORK"),
        (httpx.ReadError("cut"), "NETWORK"),
        (httpx.RemoteProtocolError("cut"), "NETWORK"),
        (httpx.InvalidURL("odd"), "NETWORK"),
        (httpx.ReadTimeout("slow"), "TIMEOUT"),
        (TimeoutError(), "TIMEOUT"),
        (httpx.DecodingError("gzip"), "MALFORMED_ANSWER"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_errors_are_classified(error, code):
    assert classifier().classify(error).code == code


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"error": null}', b'{"error": "text"}', b"[" * 100_000])
def test_an_odd_body_does_not_hide_the_status(body):
    assert classifier().classify(httpx.Response(429, content=body)).code == "RATE_LIMIT"


def test_the_type_of_an_error_counts_where_it_has_no_code():
    body = {"error": {"type": "insufficient_quota", "code": None}}
    assert classifier().classify(httpx.Response(429, json=body)).code == "QUOTA_EXCEEDED"


def test_openai_itself_has_pages_for_keys_and_for_billing():
    assert "https://platform.openai.com/api-keys" in classifier().classify(httpx.Response(401)).suggestion
    message = "LLM quota exceeded. Check billing at https://platform.openai.com/account/billing."
    assert classifier().classify(httpx.Response(402)).message == message


def test_a_password_in_the_address_is_not_shown():
    secretive = classifier(base_url="https://ann:hunter2@llm.example:8443/v1")
    message = "LLM quota exceeded. Check billing at https://llm.example:8443."
    assert secretive.classify(httpx.Response(402)).message == message
    assert "hunter2" not in repr([secretive.classify(httpx.Response(status)) for status in (401, 404, 429, 500)])
