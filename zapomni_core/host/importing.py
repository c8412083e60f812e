"""Runs a plugin's code in a thread with a time limit, and imports plugins that way.

Only a thread can be given up when the limit is reached, and only there is a KeyboardInterrupt the plugin's own: the
user's Ctrl-C is raised in the main thread, which waits.
"""

import difflib
import importlib.util
import pkgutil
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint
from math import inf
from typing import Any

from zapomni_core.errors import PluginError
from zapomni_core.host.discovery import Found
from zapomni_core.host.tracebacks import quoted

PUBLIC = "zapomni_core.plugin"
PACKAGES = ("zapomni_core", "zapomni_db", "zapomni_mcp")
SHORTEST_WAIT_SECONDS = 0.05


class BackgroundCall:
    """A call of a plugin's function in a daemon thread. It cannot be stopped: one that hangs is left behind."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._started = time.monotonic()
        self._done = threading.Event()
        threading.Thread(target=self._run, args=[function], name="zapomni-plugin", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """Whether it returned or raised."""
        return self._done.is_set()

    def wait(self, limit_seconds: float) -> bool:
        """Wait until it is done, at most this long after its start; whether it is done."""
        return self._done.wait(max(0.0, self._started + limit_seconds - time.monotonic()))

    def _run(self, function: Callable[[], Any]) -> None:
        try:
            self.result = function()
        except BaseException as error:  # noqa: BLE001 (the seam: loading a plugin)
            self.error = error
        self.seconds = time.monotonic() - self._started
        self._done.set()


class SequentialWait:
    """Waits for calls one after the other, for some seconds in all. Later calls run beside those that are slow."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def wait_for(self, call: BackgroundCall, limit_seconds: float = inf) -> None:
        """Wait until the call is done, or the time is used up."""
        call.wait(min(self._left, limit_seconds))
        left = self._left - call.seconds if call.is_done else 0
        self._left = max(SHORTEST_WAIT_SECONDS, left)


class Import:
    """The import of one plugin."""

    def __init__(self, found: Found, limit_seconds: float) -> None:
        self.call = BackgroundCall(lambda: _load(found))
        self._found = found
        self._limit = limit_seconds

    def result(self) -> Any:
        """Wait for the plugin's module or object; PluginError if the import failed or took too long."""
        if not self.call.wait(self._limit):
            raise PluginError(
                "import",
                f"importing {self._found.target} took longer than {self._limit:g} s",
                "import heavy libraries where they are used, or raise plugins.import_seconds",
            )
        error = self.call.error
        if isinstance(error, PluginError):
            raise error
        if error is not None:
            public_cause = f"its import raised {type(error).__name__}"
            raise PluginError("import", quoted(error), _fix(error, self._found), public_cause=public_cause) from error
        return self.call.result


def _load(found: Found) -> Any:
    if found.entry_point is not None:
        return _load_entry_point(found.entry_point)
    return _load_file(found) if found.file else found.plugin


def _load_entry_point(point: EntryPoint) -> Any:
    if point.pattern.match(point.value) is None:
        fix = (
            f'name a module as it is imported, as in {point.name} = "zapomni_plugin_{point.name}", and install it again'
        )
        raise PluginError("import", f"its entry point names {point.value!r}, which is not a module name", fix)
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
        raise ImportError(f"{found.file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _fix(error: BaseException, found: Found) -> str:
    """The next step after what an import raised."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _missing(error.name, found)
    if isinstance(error, ImportError) and _is_public(error.name) and (wanted := re.search(r"name '(\w+)'", str(error))):
        return _not_exported(str(error.name), wanted[1])
    if isinstance(error, SystemExit):
        return "the plugin must not exit at import: ask its author, or disable it"
    return "fix or update the plugin, or disable it"


def _is_public(module: str | None) -> bool:
    return module is not None and f"{module}.".startswith(f"{PUBLIC}.")


def _not_exported(module: str, name: str) -> str:
    """The public module that has the name, else the nearest name in the one that was asked."""
    package = import_module(PUBLIC)
    public = [PUBLIC, *(f"{PUBLIC}.{one.name}" for one in pkgutil.iter_modules(package.__path__))]
    exported = {one: import_module(one).__all__ for one in public}
    if homes := [one for one, names in exported.items() if name in names]:
        return f"import {name} from {homes[0]}"
    if nearest := difflib.get_close_matches(name, exported.get(module, ()), n=1):
        return f"{module} has no {name}; did you mean {nearest[0]}?"
    return f"this Zapomni has no {name}: if the plugin was written for a newer or an older one, update Zapomni or the plugin"


def _missing(module: str, found: Found) -> str:
    package = module.partition(".")[0]
    if package in PACKAGES:
        return f"there is no module {module} in Zapomni: a plugin imports what it needs from {PUBLIC}"
    if found.entry_point is not None and package == found.entry_point.module.partition(".")[0]:
        again = found.distribution or found.name
        return f"its own module {module} is missing: {sys.executable} -m pip install --force-reinstall {again}"
    if package != module and _is_installed(package):
        return f"there is no module {module} in {package}, which is installed: check the spelling, or its version"
    install = f"{sys.executable} -m pip install {package.replace('_', '-')}"
    return f"{install} (what has the module {package} may be called otherwise: see the plugin's requirements)"


def _is_installed(package: str) -> bool:
    with suppress(ImportError, ValueError):
        return package in sys.modules or importlib.util.find_spec(package) is not None
    return False
