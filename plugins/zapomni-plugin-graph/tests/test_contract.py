import json

import zapomni_plugin_graph

from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.testing import PluginContract, running, text_of
from zapomni_mcp.testing import connected

MOST_TOKENS = 700
CHARACTERS_PER_TOKEN = 4


class TestContract(PluginContract):
    plugin = zapomni_plugin_graph
    name = "graph"


async def test_the_tool_definitions_stay_within_their_token_budget():
    async with running(zapomni_plugin_graph, name="graph") as app:
        shown = [
            tool.name + tool.description + json.dumps(tool.input_schema, separators=(",", ":"))
            for tool in app.app.registry
        ]
    assert sum(map(len, shown)) / CHARACTERS_PER_TOKEN <= MOST_TOKENS


async def test_every_schema_has_exactly_one_type():
    async with running(zapomni_plugin_graph, name="graph") as app:
        schemas = [schema for tool in app.app.registry for schema in parts_of(tool.input_schema)]
    assert [
        one for one in schemas if not isinstance(one.get("type"), str) or {"anyOf", "oneOf", "$ref"} & set(one)
    ] == []


def parts_of(schema):
    """Yields a schema and all schemas nested in it."""
    yield schema
    for inner in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from parts_of(inner)


async def test_the_server_instructions_say_when_to_call_add_facts():
    async with running(zapomni_plugin_graph, name="graph") as app, connected(app, mode="legacy") as client:
        assert "call add_facts" in client.instructions


class PlainStore:
    """A store without a graph and jobs."""

    jobs = graph = sessions = vectors = None

    async def close(self):
        """Nothing to close."""


class Plain:
    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="store", name="plain", factory=lambda _: PlainStore())]


async def test_the_error_for_a_store_without_a_graph_names_the_store():
    async with running(zapomni_plugin_graph, Plain(), name="graph", settings={"store": "plain://"}) as app:
        answer = await app.call("get_related", {"entity": "Ada"})
    assert answer["structuredContent"]["error_code"] == "CONFIGURATION"
    assert "store 'plain'" in text_of(answer)
