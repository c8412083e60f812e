"""Options that several commands share, and the types of their values."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from zapomni_mcp.cli.errors import InvalidRequest

Command = TypeVar("Command", bound=Callable[..., Any])

_FILTERS = ("tags", "source", "author", "conversation", "kind", "date_from", "date_to")


@dataclass(slots=True)
class Options:
    """The shared options that were given; click's `obj`."""

    config: Path | None = None
    env_file: Path | None = None
    plugin: tuple[Path, ...] = ()
    strict: bool = False
    no_plugins: bool = False


def shared_options(*, hidden: bool = True) -> Callable[[Command], Command]:
    """Give a command the shared options; hidden ones are listed only in the help of `zapomni` itself."""
    file = click.Path(path_type=Path)
    plugin = click.Path(path_type=Path, exists=True, dir_okay=False)
    options = [
        _option("--config", type=file, metavar="FILE", help="Read settings from this file."),
        _option("--env-file", type=file, metavar="FILE", help="Add the variables in this file to the environment."),
        _option("--plugin", type=plugin, metavar="FILE.py", multiple=True, help="Load this file as a plugin, too."),
        _option("--strict", is_flag=True, help="Treat any plugin failure as an error."),
        _option("--no-plugins", is_flag=True, help="Safe mode: load no installed plugin, only --plugin."),
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(hidden=hidden)(command)
        return command

    return decorate


def _option(name: str, **attributes: Any) -> Callable[..., Callable[[Command], Command]]:
    def make(*, hidden: bool) -> Callable[[Command], Command]:
        return click.option(name, expose_value=False, callback=_collect, hidden=hidden, **attributes)

    return make


def _collect(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Store a value; an option after the command's name adds to those before it."""
    options = ctx.ensure_object(Options)
    if option.name == "plugin":
        options.plugin += value
    elif value:
        setattr(options, str(option.name), value)


class _Text(click.types.StringParamType):
    """A string that is not empty: an empty one usually comes from an unset variable in a script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        if not text:
            self.fail("must not be empty; omit the option instead", param, ctx)
        return text


TEXT = _Text()


def json_object(_ctx: click.Context, _option: click.Parameter, value: str | None) -> dict[str, Any]:
    """Parse a JSON object; empty if the option was not given. For click's `callback`."""
    if value is None:
        return {}
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        raise click.BadParameter("invalid JSON") from None
    if not isinstance(parsed, dict):
        raise click.BadParameter('must be a JSON object, such as \'{"project": "garden"}\'')
    return parsed


def combined(from_json: dict[str, Any], given: dict[str, Any], option: str) -> dict[str, Any]:
    """The values of a JSON option and of the other options; a usage error if a key is in both."""
    if twice := sorted(from_json.keys() & given.keys()):
        raise click.UsageError(f"{', '.join(twice)}: given both in {option} and by an option of its own; choose one.")
    return from_json | given


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that filter memories, as one argument `filters`."""

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
    @click.option("--to", "date_to", type=TEXT, metavar="DATE", help="Only up to and including this day.")
    @click.option(
        "--filter", "more", callback=json_object, metavar="JSON", help="Only with this metadata: a JSON object."
    )
    @functools.wraps(command)
    def wrapped(*arguments: Any, more: dict[str, Any], **given: Any) -> None:
        values = {key: given.pop(key) for key in _FILTERS}
        named = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items() if value}
        command(*arguments, filters=combined(more, named, "--filter"), **given)

    return wrapped


def reject_before_subcommand(ctx: click.Context) -> None:
    """Reject a group's own options in front of a subcommand, which would ignore them."""
    names = [
        option.opts[0]
        for option in ctx.command.params
        if option.expose_value and ctx.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]
    if names:
        command = str(ctx.invoked_subcommand)
        raise InvalidRequest(
            f"{', '.join(names)} has no effect before '{command}'; "
            f"put options after the command's name: {ctx.command_path} {command} --help"
        )
