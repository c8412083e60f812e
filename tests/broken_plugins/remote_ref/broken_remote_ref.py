"""Offers a tool whose input schema refers to the network."""

from zapomni_core.plugin import hookimpl


class RemoteRef:
    name = "remote_ref"
    description = "A tool whose input schema is somewhere else."
    input_schema = {"type": "object", "properties": {"x": {"$ref": "https://example.org/x.json"}}}

    async def execute(self, arguments):
        raise AssertionError


@hookimpl
def zapomni_tools():
    return [RemoteRef()]
