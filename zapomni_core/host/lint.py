"""What a tool could do better. Lint never refuses a tool; it is shown by `zapomni plugins check` and `doctor`."""

import json
from collections.abc import Iterator

from zapomni_core.host.validation import HIDDEN, CheckedTool

CHARACTERS_PER_TOKEN = 4
LARGE_TOOL_TOKENS = 250


def lint(tool: CheckedTool) -> list[str]:
    """Advice on one tool, a sentence each."""
    return [f"tool '{tool.name}': {advice}" for advice in _advice(tool)]


def tokens(tool: CheckedTool) -> int:
    """What a tool costs every conversation: its name, description and input schema, by characters / 4."""
    text = tool.name + tool.description + json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
    return round(len(text) / CHARACTERS_PER_TOKEN)


def _advice(tool: CheckedTool) -> Iterator[str]:
    for name, schema in tool.input_schema["properties"].items():
        if not (isinstance(schema, dict) and schema.get("description")):
            yield f"parameter '{name}' has no description, which is what a model reads"
    if HIDDEN.search(json.dumps(tool.input_schema, ensure_ascii=False)):
        yield "input_schema has hidden characters, which a model reads and you do not see"
    if "additionalProperties" not in tool.input_schema:
        yield "input_schema does not set additionalProperties, so a misspelt argument goes unnoticed"
    if not {"readOnlyHint", "destructiveHint"} & set(tool.annotations):
        yield "annotations state neither readOnlyHint nor destructiveHint, so clients take it for destructive"
    if (size := tokens(tool)) > LARGE_TOOL_TOKENS:
        yield f"costs every conversation {size} tokens; shorten its description or schema"
