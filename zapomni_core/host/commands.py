"""Commands that plugins add to `zapomni`: what they may be called, and to whom they belong."""

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

# The names of the command line's own commands; a test compares them with what there is.
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
        "get",
        "history",
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
        """What a plugin offers, if all of it are commands; PluginError says what is wrong with it."""
        checked: list[click.Command] = []
        for command in offered:
            name = _name_of(command)
            if any(name == one.name for one in checked):
                raise PluginError("commands", f"it offers two commands named '{name}'", "rename one of them")
            if name in OWN:
                raise _conflict(plugin, name, "zapomni")
            if does_nothing := _async_command(command):
                cause = f"command '{does_nothing}' is 'async def': nobody would wait for it, and so it would do nothing"
                raise PluginError("commands", cause, "make it 'def', and call asyncio.run(...) in it")
            checked.append(command)
        return checked

    def check_free(self, plugin: str, commands: "Iterable[click.Command]") -> None:
        """PluginError where another plugin has a command of the same name."""
        for name in (str(command.name) for command in commands):
            if name in self._owned:
                raise _conflict(plugin, name, f"plugin '{self._owned[name][0]}'")

    def take(self, plugin: str, commands: "Iterable[click.Command]") -> None:
        """Offer a plugin's commands, which were checked and are free."""
        self._owned.update({str(command.name): (plugin, command) for command in commands})

    def get(self, name: str) -> "click.Command | None":
        """The command of that name, if a plugin brings it."""
        return self._owned[name][1] if name in self._owned else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._owned)


def _conflict(plugin: str, name: str, owner: str) -> PluginError:
    another = f"call it '{f'{plugin}-{name}'.replace('_', '-')[:_LONGEST_NAME].rstrip('-')}'"
    fix = another if owner == "zapomni" else f"{another}, or disable one of the two"
    return PluginError("commands", f"command '{name}' already belongs to {owner}", fix)


def _name_of(command: Any) -> str:
    click = sys.modules.get("click")  # whoever made a command has imported it
    if click is None or not isinstance(command, click.Command):
        cause = f"zapomni_commands offers {type(command).__name__}, which is no click.Command"
        raise PluginError("commands", cause, "write @click.command() above the function, and return what that makes")
    if not _NAME.fullmatch(command.name or ""):
        cause = f"command {command.name!r} has a name that cannot be typed"
        raise PluginError("commands", cause, "a small letter, then small letters, digits and -, at most 30 in all")
    return str(command.name)


def _async_command(command: Any) -> str | None:
    """The command, or the first one below a group, whose function is async; click does not wait for one."""
    if inspect.iscoroutinefunction(_authors_function(command.callback)):
        return str(command.name)
    below = (_async_command(one) for one in getattr(command, "commands", {}).values())
    return next((f"{command.name} {name}" for name in below if name), None)


def _authors_function(callback: Any) -> Any:
    """The function within click's own decorators. Within another's it may be async: that one may wait for it."""
    while getattr(callback, "__globals__", {}).get("__name__") == "click.decorators" and hasattr(
        callback, "__wrapped__"
    ):
        callback = callback.__wrapped__
    return callback
