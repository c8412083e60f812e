"""Checks the hooks of a plugin and calls them, with a pluggy manager for each plugin.

pluggy silently ignores functions without the decorator and hooks with unknown names; here both are errors.
"""

import difflib
import inspect
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

import pluggy

from zapomni_core import hookspecs
from zapomni_core.errors import PluginError
from zapomni_core.host.tracebacks import at_line, quoted

PREFIX = "zapomni_"
SPECS = {name: spec for name, spec in vars(hookspecs).items() if name.startswith(PREFIX)}


class Hooks:
    """The hooks of one plugin; PluginError if one is wrong. A manager of its own keeps its failures from other plugins."""

    def __init__(self, plugin: object, name: str) -> None:
        functions = _functions(plugin)
        if functions and isinstance(plugin, type):
            cause = f"it is the class {plugin.__name__}, and hooks are called on an object"
            fix = f"write plugin = {plugin.__name__}() below the class, and let its entry point name that"
            raise PluginError("hooks", cause, fix)
        for attribute, function in functions:
            _check(attribute, function, is_method=not isinstance(plugin, ModuleType))
        self.is_empty = not functions
        self._plugin = plugin
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._manager.register(plugin, name)

    def call(self, hook: str, **arguments: Any) -> Any:
        """Call a hook; None if the plugin does not implement it."""
        try:
            answers = getattr(self._manager.hook, hook)(**arguments)
        except BaseException as error:
            raise _raised(hook, error, self._plugin) from error
        return answers[0] if answers else None


def as_list(answer: Any, plugin: object, hook: str) -> list[Any]:
    """The result of a hook that returns several objects; PluginError if it is not iterable."""
    if answer is None:
        return []
    if isinstance(answer, str | bytes | dict) or not isinstance(answer, Iterable):
        fix = f"return a list from {hook}"
        raise PluginError("hooks", f"{hook} returned {type(answer).__name__}, not a list", fix)
    try:
        return list(answer)
    except BaseException as error:
        raise _raised(hook, error, plugin) from error


def _raised(hook: str, error: BaseException, plugin: object) -> PluginError:
    """Any exception of a hook is the plugin's failure: hooks run in a thread, which gets no Ctrl-C."""
    public_cause = f"{hook} raised {type(error).__name__}"
    return PluginError(
        "hooks", f"{hook} raised {quoted(error, plugin)}", f"fix {hook} in the plugin", public_cause=public_cause
    )


def implements(plugin: object, hook: str) -> bool:
    """Whether a plugin implements a hook."""
    return any((_mark(function) or {}).get("specname") == hook or name == hook for name, function in _functions(plugin))


def _functions(plugin: object) -> list[tuple[str, FunctionType]]:
    """Functions with the decorator or with a name that begins like a hook's."""
    members = ((name, inspect.getattr_static(plugin, name)) for name in dir(plugin))
    return [
        (name, value)
        for name, value in members
        if isinstance(value, FunctionType) and (name.startswith(PREFIX) or _mark(value) is not None)
    ]


def _mark(function: FunctionType) -> dict[str, Any] | None:
    return getattr(function, f"{hookspecs.PROJECT}_impl", None)


def _check(attribute: str, function: FunctionType, *, is_method: bool) -> None:
    mark = _mark(function)
    hook = (mark or {}).get("specname") or attribute
    spec = SPECS.get(hook)
    if spec is None:
        nearest = difflib.get_close_matches(
            hook.removeprefix(PREFIX), [name.removeprefix(PREFIX) for name in SPECS], n=1
        )
        fix = f"rename it to {PREFIX}{nearest[0]}" if nearest else f"the hooks are: {', '.join(SPECS)}"
        raise PluginError("hooks", f"there is no hook '{hook}' {at_line(function)}", fix)
    if mark is None:
        raise PluginError("hooks", f"{hook} has no decorator {at_line(function)}", f"write @hookimpl above {hook}")
    if inspect.iscoroutinefunction(function):
        raise PluginError("hooks", f"{hook} is async {at_line(function)}", "make it 'def': hooks declare, objects act")
    if mark.get("wrapper") or mark.get("hookwrapper"):
        raise PluginError("hooks", f"{hook} is a wrapper {at_line(function)}", "offer a middleware instead")
    _check_arguments(hook, spec, function, is_method=is_method)


def _check_arguments(hook: str, spec: Any, function: FunctionType, *, is_method: bool) -> None:
    known = list(inspect.signature(spec).parameters)
    for name in list(inspect.signature(function).parameters)[is_method:]:
        if name not in known:
            allowed = f"it may ask for {', '.join(known)}" if known else "it takes no arguments"
            raise PluginError("hooks", f"{hook} asks for '{name}' {at_line(function)}", allowed)
