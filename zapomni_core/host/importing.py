"""Imports a plugin in a thread with a time limit: an import that raises, exits or hangs costs nobody else anything."""

import importlib.util
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from zapomni_core.errors import PluginError
from zapomni_core.host.discovery import Found
from zapomni_core.host.mistakes import quoted

OVERLAP_SECONDS = 1.0


@dataclass(slots=True)
class Import:
    """The import of one plugin, under way in a thread of its own or done."""

    found: Found
    limit_seconds: float
    plugin: Any = None
    error: BaseException | None = None
    seconds: float = 0.0
    _started: float = field(default_factory=time.monotonic)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Begin, and give it a moment; a slow one goes on while the next ones are imported."""
        self._thread = threading.Thread(target=self._run, name=f"import {self.found.name}", daemon=True)
        self._thread.start()
        self._thread.join(min(OVERLAP_SECONDS, self.limit_seconds))

    def finish(self) -> Any:
        """The plugin's module or object; PluginError where it failed or took too long."""
        self._thread.join(max(0.0, self._started + self.limit_seconds - time.monotonic()))
        if self._thread.is_alive():
            raise PluginError(
                "import",
                f"importing {self.found.target} took longer than {self.limit_seconds:g} s",
                "import heavy libraries where they are used, or raise plugins.import_seconds",
            )
        if self.error is not None:
            raise PluginError("import", quoted(self.error), _import_fix(self.error)) from self.error
        return self.plugin

    def _run(self) -> None:
        begun = time.monotonic()
        try:
            self.plugin = _load(self.found)
        except BaseException as error:  # noqa: BLE001 (the seam: loading a plugin)
            self.error = error
        self.seconds = time.monotonic() - begun


def _load(found: Found) -> Any:
    if found.entry_point is not None:
        return found.entry_point.load()
    return _load_file(found) if found.file else found.plugin


def _load_file(found: Found) -> Any:
    name = f"zapomni_plugin_file_{found.name}"
    spec = importlib.util.spec_from_file_location(name, found.file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{found.file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import_fix(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{sys.executable} -m pip install {error.name.partition('.')[0].replace('_', '-')}"
    if isinstance(error, SystemExit):
        return "the plugin must not exit at import: ask its author, or disable it"
    return "mend or update the plugin, or disable it"
