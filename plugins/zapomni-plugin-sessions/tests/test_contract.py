import json

import zapomni_plugin_sessions

from zapomni_core.testing import PluginContract, running

MOST_TOKENS = 900
CHARACTERS_PER_TOKEN = 4


class TestContract(PluginContract):
    plugin = zapomni_plugin_sessions
    name = "sessions"


async def test_the_tool_definitions_stay_within_their_token_budget():
    async with running(zapomni_plugin_sessions, name="sessions") as app:
        shown = [
            tool.name + tool.description + json.dumps(tool.input_schema, separators=(",", ":"))
            for tool in app.app.registry
        ]
    assert sum(map(len, shown)) / CHARACTERS_PER_TOKEN <= MOST_TOKENS


async def test_the_schema_states_the_dimension_of_a_vector():
    settings = {"plugins": {"sessions": {"embedding_dimension": 384}}}
    async with running(zapomni_plugin_sessions, name="sessions", settings=settings) as app:
        schema = app.app.registry.get("store_document").input_schema
    assert "384 numbers" in schema["properties"]["embedding"]["description"]


async def test_health_check_names_the_store_and_its_versions(ask):
    record = await ask("health_check")
    assert (record["status"], record["health"]["status"], record["health"]["store"]) == ("success", "healthy", "sqlite")
    assert f"sqlite_version {record['health']['sqlite_version']}" in record["message"]
