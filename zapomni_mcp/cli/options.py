"""Options that several commands take: all of them before their name or after it, and filters."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from zapomni_mcp.cli.json_object import combined, json_object
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.text import TEXT

Command = TypeVar("Command", bound=Callable[..., Any])

_FILTERS = ("tags", "source", "author", "conversation", "kind", "date_from", "date_to")


@dataclass(slots=True)
class Options:
    """What was given; the object that click hands to the commands."""

    config: Path | None = None
    env_file: Path | None = None
    plugin: tuple[Path, ...] = ()
    strict: bool = False
    no_plugins: bool = False


def shared_options(*, hidden: bool = True) -> Callable[[Command], Command]:
    """Give a command the options; where they are hidden, its help leaves them to that of `zapomni`."""
    file = click.Path(path_type=Path)
    plugin = click.Path(path_type=Path, exists=True, dir_okay=False)
    options = [
        _option("--config", type=file, metavar="FILE", help="Read this settings file."),
        _option("--env-file", type=file, metavar="FILE", help="Add the variables in this file to the environment."),
        _option("--plugin", type=plugin, metavar="FILE.py", multiple=True, help="Take this file as a plugin, too."),
        _option("--strict", is_flag=True, help="Take any plugin that fails for an error."),
        _option("--no-plugins", is_flag=True, help="Safe mode: take no installed plugin, only --plugin."),
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(hidden=hidden)(command)
        return command

    return decorate


def _option(name: str, **attributes: Any) -> Callable[..., Callable[[Command], Command]]:
    def make(*, hidden: bool) -> Callable[[Command], Command]:
        return click.option(name, expose_value=False, callback=_note, hidden=hidden, **attributes)

    return make


def _note(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep what was given; an option after the command adds to the ones before it."""
    options = ctx.ensure_object(Options)
    if option.name == "plugin":
        options.plugin += value
    elif value:
        setattr(options, str(option.name), value)


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that narrow down memories, as one argument `filters`."""

    @click.option(
        "--tag", "tags", type=TEXT, multiple=True, metavar="TAG", help="Only with this tag; repeated, with all of them."
    )
    @click.option("--source", type=TEXT, multiple=True, help="Only from this source; repeated, from any of them.")
    @click.option("--author", type=TEXT, multiple=True, help="Only by this author; repeated, by any of them.")
    @click.option(
        "--conversation", type=TEXT, multiple=True, help="Only of this conversation; repeated, of any of them."
    )
    @click.option("--kind", type=TEXT, multiple=True, help="Only memory, message or document; repeated, any of them.")
    @click.option("--from", "date_from", type=TEXT, metavar="DATE", help="Only from this day on: 2026-05-08.")
    @click.option("--to", "date_to", type=TEXT, metavar="DATE", help="Only up to this day, which counts too.")
    @click.option(
        "--filter", "more", callback=json_object, metavar="JSON", help="Only where metadata says so: a JSON object."
    )
    @functools.wraps(command)
    def wrapped(*arguments: Any, more: dict[str, Any], **given: Any) -> None:
        wanted = {key: given.pop(key) for key in _FILTERS}
        named = {key: list(value) if isinstance(value, tuple) else value for key, value in wanted.items() if value}
        command(*arguments, filters=combined(more, named, "--filter"), **given)

    return wrapped


def refuse_for_another(ctx: click.Context) -> None:
    """Refuse the options of a list that stand before the name of another command: it would not heed them."""
    names = [
        option.opts[0]
        for option in ctx.command.params
        if option.expose_value and ctx.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]
    if names:
        command = str(ctx.invoked_subcommand)
        raise Refusal(
            f"{', '.join(names)} before '{command}' would not be heeded; "
            f"what it takes stands behind its name: {ctx.command_path} {command} --help"
        )
