"""Commands that plugins bring: found when a name is none of our own, run with the engine that the plugin was given."""

import asyncio
import copy
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from zapomni_mcp.cli.composition import compose, log_if_asked, read_config
from zapomni_mcp.cli.failing import told_in_a_sentence
from zapomni_mcp.cli.options import Options
from zapomni_mcp.cli.output import claimed_output, written_whole

if TYPE_CHECKING:
    from zapomni_core.app import App


def guest(ctx: click.Context, name: str) -> click.Command | None:
    """The command of that name, if a plugin brings it; None where shells are completed, which must be quick."""
    if ctx.resilient_parsing:
        return None
    options = ctx.ensure_object(Options)
    output = claimed_output()  # what plugins print while they are loaded is not the command's
    config = read_config(options)
    log_if_asked(config)
    app = compose(options, config.settings)
    app.engine.program = f"{ctx.command_path} {name}"
    sys.stdout = output
    command = app.commands.get(name)
    return None if command is None else _hosted(command, app, output)


def _hosted(command: click.Command, app: "App", output: TextIO) -> click.Command:
    """The same command; what it leaves open is closed behind it, and it fails like our own ones."""
    hosted = copy.copy(command)
    run = hosted.invoke

    def invoke(ctx: click.Context) -> Any:
        try:
            with written_whole(output), told_in_a_sentence(app):
                return run(ctx)
        finally:
            asyncio.run(app.engine.close())

    hosted.invoke = invoke  # type: ignore[method-assign]
    return hosted
