"""Offers a tool whose input schema has a number for a key, which no client could be sent."""

from zapomni_core.plugin import hookimpl


class NumberAsKey:
    name = "number_as_key"
    description = "A tool whose input schema has a number for a key."
    input_schema = {"type": "object", "properties": {1: {"type": "string"}}}

    async def execute(self, arguments):
        raise AssertionError


@hookimpl
def zapomni_tools():
    return [NumberAsKey()]
