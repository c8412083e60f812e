"""The catalogue: the tools' entries in `tools/list`, and the server's instructions. Imports no MCP."""

from collections.abc import Iterable
from typing import Any

from zapomni_core.host.registry import CheckedTool

PLUGIN_KEY = "zapomni/plugin"
MEMORY = "memory"
INSTRUCTIONS = "Zapomni is long-term memory that its owner keeps."


def tool_entry(tool: CheckedTool) -> dict[str, Any]:
    """The tool's entry in `tools/list`."""
    entry: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if tool.title:
        entry["title"] = tool.title
    if tool.output_schema is not None:
        entry["outputSchema"] = tool.output_schema
    if tool.annotations:
        entry["annotations"] = dict(tool.annotations)
    meta = {**tool.meta, PLUGIN_KEY: tool.plugin} if tool.plugin else dict(tool.meta)
    if meta:
        entry["_meta"] = meta
    return entry


def instructions(tools: Iterable[CheckedTool]) -> str:
    """When to call the tools that are served: a sentence of each memory tool that has one, and one of each plugin."""
    said: dict[str, str] = {}
    for tool in tools:
        if tool.instructions:
            said.setdefault(tool.name if tool.plugin in ("", MEMORY) else f"plugin {tool.plugin}", tool.instructions)
    return " ".join([INSTRUCTIONS, *said.values()])
