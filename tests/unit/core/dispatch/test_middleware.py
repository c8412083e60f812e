"""Failures of middleware name its plugin, and a guard cannot change a call."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from types import ModuleType

import pytest

from tests.unit.core.dispatch.conftest import Around
from zapomni_core.app import build_app
from zapomni_core.errors import ToolError
from zapomni_core.host.discovery import Found
from zapomni_core.plugin import ToolResult, hookimpl, tool
from zapomni_core.testing import running, text_of

INTERNAL = "Error: An internal error occurred in "


@tool
async def echo(text: str = "", parts: list[str] | None = None) -> dict:
    """Repeat the text."""
    return ToolResult.text(text or "/".join(parts or []))


@tool
async def fall(text: str = "") -> str:
    """Fail, whatever was said."""
    raise RuntimeError("secret")


@tool
async def mumble(text: str = "") -> dict:
    """Return a result that cannot be sent."""
    return ToolResult.text("\ud800")


def plugin_of(name, **hooks):
    plugin = ModuleType(name)
    for hook, offered in hooks.items():
        setattr(plugin, hook, hookimpl(specname=hook)(returning(offered)))
    return plugin


def returning(offered):
    return lambda: offered


HELLO = plugin_of("hello", zapomni_tools=[echo, fall, mumble])


def around(**middleware):
    """One plugin per middleware, and the plugin with the tools."""
    return running(HELLO, *(plugin_of(name, zapomni_middleware=[one]) for name, one in middleware.items()))


async def pass_on(call, call_next):
    return await call_next(call)


async def fail(_call, _call_next):
    raise RuntimeError("secret")


async def forget_to_return(call, call_next):
    await call_next(call)


async def add_a_key(call, call_next):
    result = await call_next(call)
    result["took"] = 5
    return result


async def pass_on_nothing(_call, call_next):
    return await call_next(None)


def whose(record):
    return (record.message, record.plugin, record.stage, record.tool)


class WithoutNext:
    stage = "guard"

    async def __call__(self, call):
        return None


class WithMore:
    stage = "guard"

    async def __call__(self, call, call_next, more):
        return None


@pytest.mark.parametrize("middleware", [WithoutNext(), WithMore()])
def test_middleware_that_does_not_accept_call_and_call_next_is_refused(middleware):
    app = build_app(plugins=[Found("wrong", plugin=plugin_of("wrong", zapomni_middleware=[middleware]))])
    report = app.report.get("wrong")
    assert (report.state, report.stage) == ("failed", "middleware")
    assert report.cause == "it cannot be called with a call and call_next"
    assert "async def __call__(self, call, call_next)" in report.fix


@pytest.mark.parametrize("stage", ["guard", "transform"])
@pytest.mark.parametrize("body", [fail, pass_on_nothing, forget_to_return])
async def test_an_exception_of_a_middleware_is_a_failure_of_its_plugin(stage, body, caplog):
    async with around(wrong=Around(stage, body), a=Around(stage, pass_on), z=Around(stage, pass_on)) as app:
        text = text_of(await app.call("echo"))
    assert (
        text.splitlines()[0]
        == f"{INTERNAL}plugin 'wrong', which {stage}s every call. The server's log has the details."
    )
    assert whose(caplog.records[-1]) == ("middleware_failed", "wrong", stage, "echo")
    assert caplog.records[-1].exc_info


async def test_an_exception_is_attributed_correctly_when_outer_middleware_awaits_it_in_a_task(caplog):
    async def wait_for(call, call_next):
        return await asyncio.wait_for(call_next(call), 60)

    async with around(patient=Around("guard", wait_for), wrong=Around("guard", fail)) as app:
        await app.call("echo")
    assert caplog.records[-1].plugin == "wrong"


@pytest.mark.parametrize("stage", ["guard", "transform"])
@pytest.mark.parametrize(("name", "event"), [("fall", "tool_failed"), ("mumble", "invalid_result")])
async def test_a_failure_of_the_tool_is_not_attributed_to_middleware(stage, name, event, caplog):
    async with around(fine=Around(stage, pass_on)) as app:
        assert f"tool '{name}'" in text_of(await app.call(name))
    record = caplog.records[-1]
    assert (record.message, record.plugin, record.tool) == (event, "hello", name)


@pytest.mark.parametrize("stage", ["guard", "transform"])
async def test_an_invalid_result_of_a_middleware_is_logged_with_the_middleware_around_the_tool(stage, caplog):
    async with around(a=Around(stage, pass_on), wrong=Around(stage, add_a_key)) as app:
        assert text_of(await app.call("echo")).startswith("Error: The result of tool 'echo' is invalid.")
    record = caplog.records[-1]
    assert (record.message, record.tool, record.middleware) == ("invalid_result", "echo", ["a", "wrong"])


async def test_an_unknown_tool_in_a_transform_is_a_failure_of_its_plugin(caplog):
    async def mislead(call, call_next):
        return await call_next(replace(call, name="nobody"))

    async with around(a=Around("transform", pass_on), wrong=Around("transform", mislead)) as app:
        assert "in plugin 'wrong'" in text_of(await app.call("echo"))
    assert whose(caplog.records[-1]) == ("middleware_failed", "wrong", "transform", "echo")


async def test_a_malformed_tool_error_of_a_guard_is_a_failure_of_its_plugin(caplog):
    async def refuse(_call, _call_next):
        raise ToolError("no", suggestion=5)

    async with around(wrong=Around("guard", refuse)) as app:
        assert text_of(await app.call("echo")).splitlines()[0] == "Error: no"
    assert whose(caplog.records[-1]) == ("invalid_tool_error", "wrong", "guard", "echo")


async def test_an_observer_that_fails_is_named_with_its_plugin(caplog):
    async with around(wrong=Around("observe", fail)) as app:
        assert text_of(await app.call("echo", {"text": "hi"})) == "hi"
    record = caplog.records[-1]
    assert (record.message, record.plugin, record.observer) == ("observer_failed", "wrong", "Around")


@pytest.mark.parametrize(
    "change", [{"name": "fall"}, {"arguments": {"text": "changed"}}, {"plugin": "other"}, {"client": "other"}]
)
async def test_a_guard_that_passes_on_another_call_fails_and_nothing_runs(change, caplog):
    async def meddle(call, call_next):
        return await call_next(replace(call, **change))

    async with around(wrong=Around("guard", meddle)) as app:
        assert text_of(await app.call("echo", {"text": "hi"})).startswith(f"{INTERNAL}plugin 'wrong'")
    assert whose(caplog.records[-1]) == ("middleware_failed", "wrong", "guard", "echo")
    assert "to change calls, write a transform" in str(caplog.records[-1].exc_info[1])


async def test_a_guard_that_changes_the_call_in_place_fails_and_nothing_runs(caplog):
    async def meddle(call, call_next):
        call.arguments["parts"].append("more")
        return await call_next(call)

    async with around(wrong=Around("guard", meddle)) as app:
        assert "plugin 'wrong'" in text_of(await app.call("echo", {"parts": ["one"]}))
    assert caplog.records[-1].plugin == "wrong"


@asynccontextmanager
async def failing():
    raise RuntimeError("no port")
    yield


@asynccontextmanager
async def hanging():
    await asyncio.Event().wait()
    yield


def protected_by(stage, lifespan):
    """The plugin with the tools, and one with a tool and middleware whose lifespan does not open."""
    ill = plugin_of("ill", zapomni_middleware=[Around(stage, pass_on)], zapomni_lifespan=lifespan())
    return build_app(plugins=[Found("hello", plugin=HELLO), Found("ill", plugin=ill)])


@pytest.mark.parametrize("stage", ["guard", "transform"])
async def test_a_call_is_refused_with_the_name_of_the_middleware_plugin_that_could_not_start(stage):
    app = protected_by(stage, failing)
    for _ in range(2):
        result = await app.dispatcher.call("echo", {"text": "hi"})
        assert result["structuredContent"]["error_code"] == "PLUGIN_UNAVAILABLE"
        assert "'ill'" in text_of(result)
        assert "zapomni plugins disable ill" in text_of(result)
        await app.ready()
    await app.stop()


async def test_a_call_that_waits_for_a_guard_is_refused_when_the_app_ends_before_the_guard_is_ready():
    app = protected_by("guard", hanging)
    call = asyncio.create_task(app.dispatcher.call("echo", {"text": "hi"}))
    await asyncio.sleep(0)
    await app.stop()
    assert (await call)["structuredContent"]["error_code"] == "PLUGIN_UNAVAILABLE"
