"""`build_app` composes the same app for a server, a command, a test and a program."""

import asyncio

import pytest

from zapomni_core import ConfigurationError, MemoryEngine, Settings, build_app
from zapomni_core.host.discovery import Found, discover
from zapomni_core.plugin import hookimpl, tool
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore


class Greeting:
    """A plugin with a tool that asks the engine."""

    @hookimpl
    def zapomni_tools(self, engine):
        @tool
        async def count() -> dict:
            """Count the memories."""
            return {"memories": (await engine.get_stats()).total_memories}

        return [count]


GREETING = Found("greeting", plugin=Greeting())
REQUIRING = Settings.model_validate({"plugins": {"require": ["missing"]}})


@pytest.fixture
async def engine(tmp_path):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder())
    yield engine
    await engine.close()


async def test_without_plugins_named_the_installed_ones_are_loaded():
    app = build_app(Settings())
    assert {one.name for one in app.report.in_state("loaded")} == {one.name for one in discover()}


async def test_an_app_around_a_given_engine_calls_tools_on_it_and_reports_its_plugins(engine):
    app = build_app(engine=engine, plugins=[GREETING])
    await engine.add_memory("Ada lives in London.")
    assert (await app.dispatcher.call("count", {}))["structuredContent"] == {"memories": 1}
    stats = await engine.get_stats()
    assert ([one["name"] for one in stats.plugins], stats.calls["count"]["calls"]) == (["greeting"], 1)
    await app.stop()


def test_a_failure_of_a_configured_provider_stops_the_build():
    with pytest.raises(ConfigurationError, match="'missing'"):
        build_app(REQUIRING, plugins=[GREETING])


async def test_a_lenient_build_succeeds_and_reports_why_a_server_would_not_start():
    app = build_app(REQUIRING, plugins=[GREETING], insist=False)
    assert "'missing' is required" in app.problem
    assert [one.name for one in app.registry] == ["count"]
    assert build_app(plugins=[GREETING]).problem is None


async def test_the_history_of_a_memory_names_the_program_where_no_client_called(engine):
    build_app(engine=engine, plugins=[], program="nightly backup")
    added = await engine.add_memory("Ada lives in London.")
    assert [event.by for event in await engine.history(added.memory_id)] == ["nightly backup"]


async def test_nothing_runs_before_the_app_is_started(tmp_path):
    before = asyncio.all_tasks()
    build_app(Settings.model_validate({"store": f"sqlite://{tmp_path}/memory.db", "telemetry": {"enabled": True}}))
    assert asyncio.all_tasks() == before
    assert list(tmp_path.iterdir()) == []
