"""Offers a good tool and one whose input schema breaks the meta-schema: neither is taken."""

from zapomni_core.plugin import hookimpl, tool


class BadSchema:
    name = "bad_schema"
    description = "A tool whose input schema is no schema."
    input_schema = {"type": "object", "properties": {"count": {"type": "intger"}}}

    async def execute(self, arguments):
        raise AssertionError


@tool
async def beside_bad_schema() -> str:
    """A good tool in bad company."""
    return ""


@hookimpl
def zapomni_tools():
    return [beside_bad_schema, BadSchema()]
