"""The command `zapomni` itself."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from zapomni_core.errors import ConfigurationError
from zapomni_mcp.cli.add import add
from zapomni_mcp.cli.backup import backup, restore_backup
from zapomni_mcp.cli.call import call
from zapomni_mcp.cli.completion import completion
from zapomni_mcp.cli.config import config
from zapomni_mcp.cli.demo import demo
from zapomni_mcp.cli.doctor import doctor
from zapomni_mcp.cli.edit import edit
from zapomni_mcp.cli.forgetting import delete, purge, restore
from zapomni_mcp.cli.get import get
from zapomni_mcp.cli.guests import guest
from zapomni_mcp.cli.history import history
from zapomni_mcp.cli.jobs import jobs
from zapomni_mcp.cli.list import list_memories
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.plugins import plugins
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.reindex import reindex
from zapomni_mcp.cli.search import search
from zapomni_mcp.cli.serve import serve
from zapomni_mcp.cli.starting import INTERRUPTED
from zapomni_mcp.cli.stats import stats
from zapomni_mcp.cli.tools import tools
from zapomni_mcp.process import exit_soon


class Root(click.Group):
    """A group whose commands end with a message where a setting is wrong, and quietly on Ctrl-C.

    A name that is none of its own is looked for among the plugins.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of its own commands, else one that a plugin brings."""
        return super().get_command(ctx, cmd_name) or guest(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """The commands in the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            raise Refusal(str(error)) from None
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(
    cls=Root,
    invoke_without_command=True,
    epilog="Plugins may bring commands of their own: zapomni plugins show NAME.",
)
@shared_options(hidden=False)
@click.version_option(package_name="zapomni", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Long-term memory for AI agents. Every tool is a plugin.

    Without a command, zapomni serves when its standard input is no terminal.
    """
    if ctx.invoked_subcommand is None:
        if sys.stdin is not None and sys.stdin.isatty():
            click.echo(ctx.get_help())
        else:
            ctx.invoke(serve)


ON_MEMORIES = (
    add,
    search,
    list_memories,
    get,
    edit,
    history,
    delete,
    restore,
    purge,
    stats,
    jobs,
    backup,
    restore_backup,
    reindex,
)

for command in (serve, *ON_MEMORIES, plugins, tools, call, doctor, config, demo, completion):
    cli.add_command(command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit, whatever threads a plugin left running."""
    # Pydantic would read the entry points of every installed package, and fail where one of them cannot be read.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        cli.main(args, prog_name="zapomni")
    except SystemExit as error:
        exit_soon(error.code if isinstance(error.code, int) else int(error.code is not None))
        raise
