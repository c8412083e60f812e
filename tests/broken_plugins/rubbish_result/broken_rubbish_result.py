"""Returns what is no result, of the kind that it is asked for."""

from zapomni_core.plugin import ToolResult, hookimpl

RUBBISH = {
    "none": lambda: None,
    "string": lambda: "just text",
    "no_content": lambda: {"isError": False},
    "content_of_strings": lambda: {"content": ["just text"], "isError": False},
    "content_of_wrong_shape": lambda: {"content": [{"type": "text", "txt": "misspelt"}], "isError": False},
    "unknown_content": lambda: {"content": [{"type": "hologram"}], "isError": False},
    "unknown_key": lambda: {"content": [], "is_error": True},
    "is_error_is_text": lambda: {"content": [], "isError": "yes"},
    "not_a_number": lambda: ToolResult.text("see the data", structured={"ratio": float("nan")}),
    "an_object": lambda: ToolResult.text("see the data", structured={"thing": object()}),
    "lone_surrogate": lambda: ToolResult.text("half a pair: \ud800"),
    "empty_resource": lambda: {"content": [{"type": "resource", "resource": {}}], "isError": False},
    "annotations_are_text": lambda: {"content": [{"type": "text", "text": "x", "annotations": "x"}], "isError": False},
    "number_as_key": lambda: ToolResult.text("see the data", structured={1: 2}),
    "circle": lambda: ToolResult.text("see the data", structured=circle()),
}


def circle():
    ring = {}
    ring["ring"] = ring
    return ring


class RubbishResult:
    name = "rubbish_result"
    description = "Return rubbish of the kind that is asked for."
    input_schema = {
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": list(RUBBISH), "description": "What to return."}},
        "required": ["kind"],
        "additionalProperties": False,
    }

    async def execute(self, arguments):
        return RUBBISH[arguments["kind"]]()


@hookimpl
def zapomni_tools():
    return [RubbishResult()]
