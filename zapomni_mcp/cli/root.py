"""The command `zapomni` itself, and `zapomni completion`."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from zapomni_core.errors import ConfigurationError
from zapomni_mcp.cli.add import add
from zapomni_mcp.cli.backup import backup, restore_backup
from zapomni_mcp.cli.config import config
from zapomni_mcp.cli.delete import delete, purge, restore
from zapomni_mcp.cli.demo import demo
from zapomni_mcp.cli.doctor import doctor
from zapomni_mcp.cli.edit import edit
from zapomni_mcp.cli.embedders import embedders
from zapomni_mcp.cli.entry_point import INTERRUPTED
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.jobs import jobs
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.plugin_commands import plugin_command
from zapomni_mcp.cli.plugins import plugins
from zapomni_mcp.cli.reindex import reindex
from zapomni_mcp.cli.search import get, history, list_memories, search, stats
from zapomni_mcp.cli.serve import serve
from zapomni_mcp.cli.tools import call, tools
from zapomni_mcp.cli.transfer import export_memories, import_memories
from zapomni_mcp.process import exit_soon


class Root(click.Group):
    """A group that also offers the commands of plugins. Invalid settings are an error message, Ctrl-C is quiet."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of our own commands, else one that a plugin offers."""
        return super().get_command(ctx, cmd_name) or plugin_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Our commands in the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            raise InvalidRequest(str(error)) from None
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(
    cls=Root,
    invoke_without_command=True,
    epilog="Plugins may add commands: zapomni plugins show NAME.",
)
@shared_options(hidden=False)
@click.version_option(package_name="zapomni", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Long-term memory for AI agents. Every tool is a plugin.

    Without a command, zapomni serves if its standard input is not a terminal.
    """
    if ctx.invoked_subcommand is None:
        if sys.stdin is not None and sys.stdin.isatty():
            click.echo(ctx.get_help())
        else:
            ctx.invoke(serve)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell's completion script.

    \b
    bash: zapomni completion bash > ~/.local/share/bash-completion/completions/zapomni
    zsh:  zapomni completion zsh > ~/.zfunc/_zapomni    (a directory in $fpath)
    fish: zapomni completion fish > ~/.config/fish/completions/zapomni.fish
    """  # noqa: D301 (\b is click's mark for lines that are not wrapped)
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 (click.Choice allows only shells that click knows)
    click.echo(script(ctx.find_root().command, {}, "zapomni", "_ZAPOMNI_COMPLETE").source())


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
    export_memories,
    import_memories,
    reindex,
    embedders,
)

for command in (serve, *ON_MEMORIES, plugins, tools, call, doctor, config, demo, completion):
    cli.add_command(command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit, even if a plugin left threads running."""
    # Pydantic would read the entry points of every installed package, and fail if one of them is broken.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        cli.main(args, prog_name="zapomni")
    except SystemExit as error:
        exit_soon(error.code if isinstance(error.code, int) else int(error.code is not None))
        raise
