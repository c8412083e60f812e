"""A good neighbour: a tool with state, an output schema and progress."""

from zapomni_core.plugin import ToolResult, current_call, hookimpl


class Counter:
    name = "count"
    title = "Count on"
    description = "Count on from where the last call stopped, and report every step."
    input_schema = {
        "type": "object",
        "properties": {"steps": {"type": "integer", "minimum": 1, "description": "How far to count."}},
        "required": ["steps"],
        "additionalProperties": False,
    }
    output_schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
        "additionalProperties": False,
    }
    annotations = {"readOnlyHint": False, "destructiveHint": False}

    def __init__(self):
        self.count = 0

    async def execute(self, arguments):
        steps = arguments["steps"]
        for step in range(steps):
            self.count += 1
            await current_call().progress(step + 1, steps, f"at {self.count}")
        return ToolResult.text(f"Counted to {self.count}.", structured={"count": self.count})


@hookimpl
def zapomni_tools():
    return [Counter()]
