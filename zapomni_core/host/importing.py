"""Imports a plugin within a time limit: an import that raises, exits or hangs costs nobody else anything."""

import importlib.util
import sys
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from zapomni_core.errors import PluginError
from zapomni_core.host.discovery import Found
from zapomni_core.host.errands import Errands
from zapomni_core.host.import_fixes import import_fix
from zapomni_core.host.mistakes import quoted


class Import:
    """The import of one plugin, under way or done."""

    def __init__(self, found: Found, limit_seconds: float, errands: Errands) -> None:
        self._found = found
        self._limit = limit_seconds
        self._errand = errands.begin(lambda: _load(found))

    def spend(self, patience_seconds: float) -> float:
        """Wait that long, or until it is done, but not over its limit; the patience that is left."""
        return self._errand.spend(min(patience_seconds, self._limit))

    @property
    def is_done(self) -> bool:
        """Whether it has come to an end, good or bad."""
        return self._errand.is_done

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self._errand.seconds

    def finish(self) -> Any:
        """The plugin's module or object; PluginError where it failed or took too long."""
        if not self._errand.wait(self._limit):
            raise PluginError(
                "import",
                f"importing {self._found.target} took longer than {self._limit:g} s",
                "import heavy libraries where they are used, or raise plugins.import_seconds",
            )
        if isinstance(self._errand.error, PluginError):
            raise self._errand.error
        if (error := self._errand.error) is not None:
            told = f"its import raised {type(error).__name__}"
            raise PluginError("import", quoted(error), import_fix(error, self._found), told=told) from error
        return self._errand.result


def _load(found: Found) -> Any:
    if found.entry_point is not None:
        return _load_entry_point(found.entry_point)
    return _load_file(found) if found.file else found.plugin


def _load_entry_point(point: EntryPoint) -> Any:
    if point.pattern.match(point.value) is None:
        fix = (
            f'name a module as it is imported, as in {point.name} = "zapomni_plugin_{point.name}", and install it again'
        )
        raise PluginError("import", f"its entry point names {point.value!r}, which can be no module", fix)
    module = import_module(point.module)
    try:
        return reduce(getattr, filter(None, (point.attr or "").split(".")), module)
    except AttributeError:
        cause = f"its entry point names {point.value!r}, but {point.module} has no {point.attr}"
        fix = f'correct it, as in {point.name} = "{point.module}", and install the plugin again'
        raise PluginError("import", cause, fix) from None


def _load_file(found: Found) -> Any:
    name = f"zapomni_plugin_file_{found.name}"
    spec = importlib.util.spec_from_file_location(name, found.file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{found.file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
