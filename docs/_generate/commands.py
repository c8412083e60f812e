"""Every command with its `--help`, found by walking the command line itself."""

from collections.abc import Iterator

import click

from zapomni_mcp.cli.root import cli

WIDTH = 100


def commands() -> str:
    """A section for each command."""
    return "\n\n".join(f"## `{path}`\n\n```text\n{text}\n```" for path, text in _walk(cli, "zapomni", None))


def _walk(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None and not found.hidden:
                yield from _walk(found, child, context)
