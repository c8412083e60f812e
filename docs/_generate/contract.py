"""The contract: hooks, the public modules for plugins, the testing kit, the tree of errors."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import GenericAlias, ModuleType
from typing import Any, get_overloads

from pydantic import BaseModel

from zapomni_core import errors as core_errors
from zapomni_core import plugin, testing
from zapomni_core.errors import KINDS
from zapomni_core.host.discovery import discover
from zapomni_core.host.hooks import SPECS, implements

OUR_PLUGINS = Path(__file__).parents[2] / "plugins"


def hooks() -> str:
    """Every hook: its signature, its description, and our plugins that use it."""
    return "\n\n".join(_hook(name, spec) for name, spec in SPECS.items())


def public_modules() -> list[ModuleType]:
    """`zapomni_core.plugin` and the modules beside it."""
    beside = [import_module(f"{plugin.__name__}.{one.name}") for one in iter_modules(plugin.__path__)]
    return [plugin, *beside]


def plugin_modules() -> str:
    """Every name a plugin author can import, by module."""
    return "\n\n".join(_module(one) for one in public_modules())


def testing_kit() -> str:
    """Every name of the testing kit."""
    return _names(testing)


def errors() -> str:
    """The tree from the docstring of the module, then each class with its docstring."""
    tree = (core_errors.__doc__ or "").split("\n\n", 1)[1].rstrip()
    return f"{_code(tree, 'text')}\n\n{_names(core_errors)}\n\n{_codes()}"


def _codes() -> str:
    """The message that a client gets for each kind of failure."""
    rows = [
        f"| `{cls.__name__}` | `{kind.error_code}` | {kind.status_code} | {'yes' if kind.recoverable else 'no'} |"
        for cls, kind in KINDS.items()
    ]
    headings = ["| raised | `error_code` | `status_code` | trying again can help |", "|---|---|---|---|"]
    return "\n".join(["## Messages that a client gets", "", *headings, *rows])


def users(hook: str) -> list[str]:
    """The plugins of this repository that implement a hook."""
    ours = [one for one in discover() if one.bundled or (OUR_PLUGINS / one.distribution).is_dir()]
    return [one.name for one in ours if one.entry_point and implements(one.entry_point.load(), hook)]


def _hook(name: str, spec: Any) -> str:
    used = ", ".join(f"`{user}`" for user in users(name))
    return f"## `{name}`\n\n{_code(_signature(name, spec))}\n\n{inspect.getdoc(spec)}\n\nUsed by: {used}."


def _module(module: ModuleType) -> str:
    return f"## `{module.__name__}`\n\n{inspect.getdoc(module)}\n\n{_names(module, level=3)}"


def _names(module: ModuleType, level: int = 2) -> str:
    return "\n\n".join(_described(name, getattr(module, name), level) for name in module.__all__)


def _described(name: str, value: Any, level: int) -> str:
    parts = [f"{'#' * level} `{name}`", _code(_head(name, value))]
    if inspect.isclass(value) or inspect.isfunction(value):
        parts.append(inspect.getdoc(value) or "")
    elif not isinstance(value, GenericAlias):
        parts.append((inspect.getdoc(value) or "").split("\n")[0])  # the rest describes the library it comes from
    if inspect.isclass(value):
        parts.append("\n".join([*_fields(value), *_methods(value)]))
    return "\n\n".join(part for part in parts if part)


def _head(name: str, value: Any) -> str:
    if isinstance(value, GenericAlias):
        return f"{name} = {_plain(str(value))}"
    if inspect.isclass(value):
        return _class_line(value)
    if inspect.isfunction(value):
        return "\n".join(_signature(name, overload) for overload in get_overloads(value) or [value])
    return f"@{name}"


def _class_line(value: type) -> str:
    declared = (
        is_dataclass(value)
        or getattr(value, "_is_protocol", False)
        or issubclass(value, BaseModel)
        or "__init__" not in vars(value)
    )
    bases = [base.__name__ for base in value.__bases__ if base is not object and not base.__name__.startswith("_")]
    if declared:
        return f"class {value.__name__}" + (f"({', '.join(bases)})" if bases else "")
    return _signature(value.__name__, value).removesuffix(" -> None")


def _fields(value: type) -> Iterator[str]:
    if issubclass(value, BaseModel):
        for name, field in value.model_fields.items():
            yield f"- `{name}`: {field.description or f'always `{field.default}`'}"
        return
    for name, annotation in inspect.get_annotations(value).items():
        yield f"- `{name}: {_plain(inspect.formatannotation(annotation))}`"


def _methods(value: type) -> Iterator[str]:
    for name, member in vars(value).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(member, property):
            yield _item(name, member.fget)
        elif inspect.isfunction(function):
            yield _item(_signature(name, function), function)


def _item(shown: str, function: Any) -> str:
    meaning = (function.__doc__ or "").strip().split("\n")[0]
    return f"- `{shown}`: {meaning}" if meaning else f"- `{shown}`"


def _signature(name: str, function: Any) -> str:
    shown = re.sub(r"\(self(, )?", "(", f"{name}{inspect.signature(function)}", count=1)
    return ("async " if inspect.iscoroutinefunction(function) else "") + _plain(shown)


def _plain(text: str) -> str:
    """Annotations without the modules that names come from."""
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text)


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"
