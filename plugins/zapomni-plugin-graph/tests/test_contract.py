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


async def test_the_tools_cost_a_conversation_little():
    async with running(zapomni_plugin_graph, name="graph") as app:
        shown = [
            tool.name + tool.description + json.dumps(tool.input_schema, separators=(",", ":"))
            for tool in app.app.registry
        ]
    assert sum(map(len, shown)) / CHARACTERS_PER_TOKEN <= MOST_TOKENS


async def test_schemas_have_single_plain_types():
    async with running(zapomni_plugin_graph, name="graph") as app:
        schemas = [schema for tool in app.app.registry for schema in parts_of(tool.input_schema)]
    assert [
        one for one in schemas if not isinstance(one.get("type"), str) or {"anyOf", "oneOf", "$ref"} & set(one)
    ] == []


def parts_of(schema):
    """A schema and all that are within it."""
    yield schema
    for inner in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from parts_of(inner)


async def test_the_server_says_when_to_state_facts():
    async with running(zapomni_plugin_graph, name="graph") as app, connected(app, mode="legacy") as client:
        assert "call add_facts" in client.instructions


class PlainStore:
    """A store that keeps neither a graph nor jobs."""

    jobs = graph = sessions = vectors = None

    async def close(self):
        """There is nothing to close."""


class Plain:
    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="store", name="plain", factory=lambda _: PlainStore())]


async def test_a_store_without_a_graph_is_named():
    async with running(zapomni_plugin_graph, Plain(), name="graph", settings={"store": "plain://"}) as app:
        answer = await app.call("get_related", {"entity": "Ada"})
    assert answer["structuredContent"]["error_code"] == "CONFIGURATION"
    assert text_of(answer).splitlines()[0] == "Error: the store 'plain' keeps no graph; choose one that does"
