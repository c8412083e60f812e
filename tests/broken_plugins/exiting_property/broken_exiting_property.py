"""Exits while the description of its tool is read."""

import sys

from zapomni_core.plugin import hookimpl


class Exiting:
    name = "exiting"
    input_schema = {"type": "object", "properties": {}}

    @property
    def description(self):
        sys.exit(7)

    async def execute(self, arguments):
        raise AssertionError


@hookimpl
def zapomni_tools():
    return [Exiting()]
