"""Our values as wire values: a checked tool as `tools/list` shows it."""

from typing import Any

from zapomni_core.host.registry import CheckedTool

PLUGIN_KEY = "zapomni/plugin"


def tool_on_the_wire(tool: CheckedTool) -> dict[str, Any]:
    """A tool as an entry of `tools/list`."""
    entry: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if tool.title:
        entry["title"] = tool.title
    if tool.output_schema is not None:
        entry["outputSchema"] = tool.output_schema
    if tool.annotations:
        entry["annotations"] = dict(tool.annotations)
    if tool.plugin:
        entry["_meta"] = {PLUGIN_KEY: tool.plugin}
    return entry
