"""Commands of plugins: looked up when a name is not one of our own, and run with the engine that the plugin was given."""

import asyncio
import copy
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from zapomni_mcp.cli.context import configure_logging, load_app, read_config
from zapomni_mcp.cli.errors import readable_errors
from zapomni_mcp.cli.options import Options
from zapomni_mcp.cli.output import claim_stdout, flushed

if TYPE_CHECKING:
    from zapomni_core.app import App


def plugin_command(ctx: click.Context, name: str) -> click.Command | None:
    """The command of that name, if a plugin offers it. Always None during shell completion, which must be quick."""
    if ctx.resilient_parsing:
        return None
    options = ctx.ensure_object(Options)
    output = claim_stdout()  # plugins that print while they are loaded must not write to the command's output
    config = read_config(options)
    configure_logging(config)
    app = load_app(options, config.settings)
    app.engine.components.program = f"{ctx.command_path} {name}"
    sys.stdout = output
    command = app.commands.get(name)
    return None if command is None else _with_engine_closed(command, app, output)


def _with_engine_closed(command: click.Command, app: "App", output: TextIO) -> click.Command:
    """A copy of the command that closes the engine when it ends, and reports errors as our own commands do."""
    wrapped = copy.copy(command)
    run = wrapped.invoke

    def invoke(ctx: click.Context) -> Any:
        try:
            with flushed(output), readable_errors(app):
                return run(ctx)
        finally:
            asyncio.run(app.engine.close())

    wrapped.invoke = invoke  # type: ignore[method-assign]
    return wrapped
