"""Commands that plugins add to `zapomni`: their names and their owners."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from zapomni_core.errors import PluginError

if TYPE_CHECKING:
    import click

_LONGEST_NAME = 30
_NAME = re.compile(rf"[a-z][a-z0-9-]{{0,{_LONGEST_NAME - 1}}}")

# The names of the built-in commands; a test compares them with the command line.
OWN = frozenset(
    [
        "add",
        "backup",
        "call",
        "completion",
        "config",
        "delete",
        "demo",
        "doctor",
        "edit",
        "embedders",
        "export",
        "get",
        "history",
        "import",
        "jobs",
        "list",
        "plugins",
        "purge",
        "reindex",
        "restore",
        "restore-backup",
        "search",
        "serve",
        "stats",
        "tools",
    ]
)


class Commands:
    """The commands of plugins, by name."""

    def __init__(self) -> None:
        self._owned: dict[str, tuple[str, click.Command]] = {}

    def check(self, plugin: str, offered: Iterable[Any]) -> "list[click.Command]":
        """The commands of a plugin; PluginError if one is wrong."""
        checked: list[click.Command] = []
        for command in offered:
            name = _name_of(command)
            if any(name == one.name for one in checked):
                raise PluginError("commands", f"it offers two commands named '{name}'", "rename one of them")
            if name in OWN:
                raise _conflict(plugin, name, "zapomni")
            if unusable := _async_command(command):
                cause = f"command '{unusable}' is 'async def': click does not await it"
                raise PluginError("commands", cause, "make it 'def', and call asyncio.run(...) in it")
            checked.append(command)
        return checked

    def check_free(self, plugin: str, commands: "Iterable[click.Command]") -> None:
        """PluginError if another plugin has a command of the same name."""
        for name in (str(command.name) for command in commands):
            if name in self._owned:
                raise _conflict(plugin, name, f"plugin '{self._owned[name][0]}'")

    def take(self, plugin: str, commands: "Iterable[click.Command]") -> None:
        """Add the commands of a plugin, which were checked."""
        self._owned.update({str(command.name): (plugin, command) for command in commands})

    def get(self, name: str) -> "click.Command | None":
        """The command of that name, if a plugin has it."""
        return self._owned[name][1] if name in self._owned else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._owned)


def _conflict(plugin: str, name: str, owner: str) -> PluginError:
    another = f"call it '{f'{plugin}-{name}'.replace('_', '-')[:_LONGEST_NAME].rstrip('-')}'"
    fix = another if owner == "zapomni" else f"{another}, or disable one of the two"
    return PluginError("commands", f"command '{name}' already belongs to {owner}", fix)


def _name_of(command: Any) -> str:
    click = sys.modules.get("click")  # imported already by any plugin that has a command
    if click is None or not isinstance(command, click.Command):
        cause = f"zapomni_commands offers {type(command).__name__}, which is not a click.Command"
        raise PluginError("commands", cause, "write @click.command() above the function, and return what that makes")
    if not _NAME.fullmatch(command.name or ""):
        cause = f"command {command.name!r} has an invalid name"
        raise PluginError(
            "commands", cause, "use a lower-case letter, then lower-case letters, digits and -, at most 30 in all"
        )
    return str(command.name)


def _async_command(command: Any) -> str | None:
    """The path of the first command, itself or in its group, whose function is async; click does not await it."""
    if inspect.iscoroutinefunction(_plugin_function(command.callback)):
        return str(command.name)
    below = (_async_command(one) for one in getattr(command, "commands", {}).values())
    return next((f"{command.name} {name}" for name in below if name), None)


def _plugin_function(callback: Any) -> Any:
    """The function inside click's decorators. Other decorators may await the function inside them."""
    while getattr(callback, "__globals__", {}).get("__name__") == "click.decorators" and hasattr(
        callback, "__wrapped__"
    ):
        callback = callback.__wrapped__
    return callback
