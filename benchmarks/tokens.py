"""Counts the tokens of the tools: the catalogue, and typical answers as text and as structured content."""

import asyncio
import json
import re
from typing import Any, NamedTuple

import bpe_openai
import zapomni_plugin_graph
import zapomni_plugin_hello
import zapomni_plugin_sessions

from zapomni_core.testing import RunningApp, running, text_of
from zapomni_mcp import tools as memory
from zapomni_mcp.catalogue import instructions, tool_entry

ENCODING = "o200k_base"
FACTS = (
    "Ada keeps bees behind the house and sells honey in August.",
    "The honey of 2025 was sold to the bakery on Mill Street.",
    "Bees are moved to the heather in the middle of July.",
    "Grace lent Ada a honey extractor, to be returned by May.",
    "The third hive lost its queen; a new one comes from Ben.",
    "Ben breeds queen bees and answers only by telephone.",
    "Ada is allergic to wasp stings, not to bee stings.",
    "The veterinary office inspects the hives every spring.",
    "The bee house was painted green by Ada's brother Karl.",
    "Honey jars are ordered from Nordglas, 120 at a time.",
    "The deployment of the web shop runs on Fridays at noon.",
    "Karl prefers tea to coffee, without sugar.",
)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AN_ID = "01a1f652-9971-7ba2-960e-6972be6e5487"
MISSING = "00000000-0000-7000-8000-000000000000"


class Cost(NamedTuple):
    """Tokens of an answer, as text and as structured content; of a part of the catalogue, in one of the two."""

    what: str
    text: int | None
    structured: int | None


def count(value: Any) -> int:
    """Count the tokens of a text, or of data as compact JSON. IDs count alike: random ones have 17 to 30 tokens, this one 23."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(bpe_openai.get_encoding(ENCODING).encode(UUID.sub(AN_ID, text)))


async def measure() -> list[Cost]:
    """Measure the catalogue of all bundled tools, and answers of a small store."""
    plugins = (memory, zapomni_plugin_graph, zapomni_plugin_sessions, zapomni_plugin_hello)
    async with running(*plugins, name="memory") as app:
        return [*_catalogue(app), *[_cost(what, answer) for what, answer in await _answers(app)]]


def _catalogue(app: RunningApp) -> list[Cost]:
    entries = [tool_entry(tool) for tool in app.app.registry]
    read = [{key: entry[key] for key in ("name", "description", "inputSchema")} for entry in entries]
    return [
        Cost(f"catalogue, {len(entries)} tools", None, count(entries)),
        Cost("catalogue: names, descriptions, input schemas", None, sum(map(count, read))),
        Cost("catalogue: output schemas", None, sum(count(entry.get("outputSchema", "")) for entry in entries)),
        Cost("instructions", count(instructions(app.app.registry)), None),
    ]


def _cost(what: str, answer: dict[str, Any]) -> Cost:
    return Cost(what, count(text_of(answer)), count(answer["structuredContent"]))


async def _answers(app: RunningApp) -> list[tuple[str, dict[str, Any]]]:
    added = [await app.call("add_memory", {"text": fact, "metadata": {"source": "chat"}}) for fact in FACTS]
    first, second = (answer["structuredContent"]["memory_id"] for answer in added[:2])
    question = {"query": "What do we know about Ada's bees, hives and honey?"}
    facts = [
        {"subject": "Ada", "relation": "keeps", "object": "bees"},
        {"subject": "Ada", "relation": "sells", "object": "honey"},
    ]
    session = (await app.call("create_session", {"user_id": "ada"}))["structuredContent"]["session_id"]
    document = {"content": "The hives are inspected in spring, by the veterinary office."}
    message = {"session_id": session, "role": "user", "content": "When are the hives inspected?"}
    return [
        ("add_memory", added[0]),
        ("search_memory, ten hits", await app.call("search_memory", question)),
        ("search_memory, one hit", await app.call("search_memory", {**question, "limit": 1})),
        ("search_memory, ten hits within 200 tokens", await app.call("search_memory", {**question, "max_tokens": 200})),
        ("get_memory", await app.call("get_memory", {"memory_id": first})),
        ("list_memories, ten", await app.call("list_memories", {"limit": 10})),
        ("get_stats", await app.call("get_stats")),
        ("delete_memory", await app.call("delete_memory", {"memory_id": second})),
        ("restore_memory", await app.call("restore_memory", {"memory_id": second})),
        ("add_facts", await app.call("add_facts", {"memory_id": first, "facts": facts})),
        ("get_related", await app.call("get_related", {"entity": "Ada"})),
        ("search_memory_nodes", await app.call("search_memory_nodes", {"query": "Ada"})),
        ("graph_status", await app.call("graph_status")),
        ("store_message", await app.call("store_message", message)),
        ("get_conversation_history", await app.call("get_conversation_history", {"session_id": session})),
        ("store_document", await app.call("store_document", document)),
        ("semantic_search", await app.call("semantic_search", {"query": "hives inspected in spring"})),
        ("health_check", await app.call("health_check")),
        ("wrong argument", await app.call("search_memory", {"query": "bees", "limit": "many"})),
        ("unknown memory", await app.call("get_memory", {"memory_id": MISSING})),
    ]


def as_table(costs: list[Cost]) -> str:
    """Write the costs as a Markdown table."""
    rows = [f"| {what} | {_cell(text)} | {_cell(structured)} |" for what, text, structured in costs]
    return "\n".join(["| | text | structured |", "|---|---:|---:|", *rows])


def _cell(tokens: int | None) -> str:
    return "" if tokens is None else f"{tokens:,}"


if __name__ == "__main__":
    print(as_table(asyncio.run(measure())))
