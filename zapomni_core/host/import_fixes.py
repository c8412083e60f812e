"""What to do about an import that failed. A name is advised for installing only where nothing speaks against it."""

import difflib
import importlib.util
import pkgutil
import re
import sys
from contextlib import suppress

from zapomni_core.host.discovery import Found

PUBLIC = "zapomni_core.plugin"
OURS = ("zapomni_core", "zapomni_db", "zapomni_mcp")


def import_fix(error: BaseException, found: Found) -> str:
    """The next step after what an import raised."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _missing(error.name, found)
    if isinstance(error, ImportError) and _is_public(error.name) and (wanted := re.search(r"name '(\w+)'", str(error))):
        return _not_exported(str(error.name), wanted[1])
    if isinstance(error, SystemExit):
        return "the plugin must not exit at import: ask its author, or disable it"
    return "mend or update the plugin, or disable it"


def _is_public(module: str | None) -> bool:
    return module is not None and f"{module}.".startswith(f"{PUBLIC}.")


def _not_exported(module: str, name: str) -> str:
    """The public module that has the name, else the nearest name in the one that was asked."""
    package = importlib.import_module(PUBLIC)
    public = [PUBLIC, *(f"{PUBLIC}.{one.name}" for one in pkgutil.iter_modules(package.__path__))]
    exported = {one: importlib.import_module(one).__all__ for one in public}
    if homes := [one for one, names in exported.items() if name in names]:
        return f"import {name} from {homes[0]}"
    if nearest := difflib.get_close_matches(name, exported.get(module, ()), n=1):
        return f"{module} has no {name}; did you mean {nearest[0]}?"
    return f"this Zapomni has no {name}: if the plugin was written for a newer or an older one, update Zapomni or the plugin"


def _missing(module: str, found: Found) -> str:
    package = module.partition(".")[0]
    if package in OURS:
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
