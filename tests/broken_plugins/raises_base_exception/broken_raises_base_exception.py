"""Raises what no `except Exception` catches, of the kind that it is asked for."""

import asyncio

from zapomni_core.plugin import hookimpl


class NotEvenAnException(BaseException):
    """Derives from the root, as nobody should."""


RAISED = {
    "own": NotEvenAnException,
    "system_exit": SystemExit,
    "keyboard_interrupt": KeyboardInterrupt,
    "generator_exit": GeneratorExit,
    "cancelled": asyncio.CancelledError,
}


class RaisesBaseException:
    name = "raises_base_exception"
    description = "Raise an exception of the kind that is asked for."
    input_schema = {
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": list(RAISED), "description": "What to raise."}},
        "required": ["kind"],
        "additionalProperties": False,
    }

    async def execute(self, arguments):
        raise RAISED[arguments["kind"]]("secret /home/x/password")


@hookimpl
def zapomni_tools():
    return [RaisesBaseException()]
