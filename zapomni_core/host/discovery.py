"""Finds plugins by packaging metadata alone; nothing is imported here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any

from zapomni_core.settings import PluginsSettings, normalise

GROUP = "zapomni.plugins"
ROOT_DISTRIBUTION = "zapomni"
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin as its metadata shows it; or one file that the user named; or an object that a test hands over."""

    name: str
    distribution: str = ""
    version: str = ""
    target: str = ""
    entry_point: EntryPoint | None = None
    file: Path | None = None
    plugin: Any = None
    damage: str = ""

    @property
    def bundled(self) -> bool:
        """Whether it came with Zapomni itself."""
        return normalise(self.distribution) == ROOT_DISTRIBUTION

    def is_called(self, names: Iterable[str]) -> bool:
        """Whether one of the names is the plugin's or its distribution's."""
        return bool({normalise(self.name), normalise(self.distribution)} & {normalise(name) for name in names})


def discover() -> list[Found]:
    """Every installed plugin: bundled ones first, then by name."""
    return sorted(_installed(), key=lambda one: (not one.bundled, one.name, one.distribution))


def _installed() -> list[Found]:
    try:
        return [_found(point, point.dist) for point in entry_points(group=GROUP) if point.dist is not None]
    except Exception:  # noqa: BLE001 (one file that cannot be read keeps all others from being read)
        first_on_path = {_told(one, "Name") or _folder(one): one for one in reversed([*distributions()])}
        return [found for one in first_on_path.values() for found in _offered(one)]


def _offered(distribution: Distribution) -> list[Found]:
    """The plugins of one distribution; where nobody can tell whether it has any, one that is damaged."""
    try:
        return [_found(point, distribution) for point in distribution.entry_points.select(group=GROUP)]
    except Exception as error:  # noqa: BLE001 (whatever is in that file)
        name = _told(distribution, "Name")
        damage = f"{_folder(distribution)} has an entry_points.txt that cannot be read ({type(error).__name__})"
        return [Found(normalise(name) or "unknown", name, _told(distribution, "Version"), damage=damage)]


def _told(distribution: Distribution, key: str) -> str:
    """What the metadata says; nothing where a file is missing or cannot be read."""
    try:
        return distribution.metadata[key] or ""
    except Exception:  # noqa: BLE001 (such a file is as good as none)
        return ""


def _found(point: EntryPoint, distribution: Distribution) -> Found:
    """What the metadata says; an uninstallation that was interrupted leaves metadata without a name."""
    name, version = _told(distribution, "Name"), _told(distribution, "Version")
    damage = "" if name and version else f"{_folder(distribution)} tells no {'version' if name else 'name'}"
    return Found(point.name, name, version, point.value, entry_point=point, damage=damage)


def _folder(distribution: Distribution) -> str:
    return str(getattr(distribution, "_path", "its metadata"))


def from_file(path: Path) -> Found:
    """One file as a plugin, named after the file."""
    stem = normalise(path.stem).removeprefix("zapomni_plugin_")
    return Found(stem, target=str(path), file=path.absolute())


def name_problem(name: str) -> str | None:
    """Why that is no name for a plugin; None if it is one."""
    if name in PluginsSettings.model_fields:
        return f"'{name}' is a word of the settings' [plugins] table"
    if not NAME.fullmatch(name):
        return f"'{name}' must be lower-case letters, digits and single underscores"
    return None


def refusal(found: Found, settings: PluginsSettings) -> str | None:
    """Why the user does not want this plugin loaded; None if it may be."""
    if found.file or found.plugin or found.is_called(settings.enable):
        return None
    if found.is_called(settings.disable):
        return "disabled in the settings"
    if settings.policy == "allowlist" and not found.is_called([*settings.allow, *map(bare_name, settings.require)]):
        return "not on the allowlist (plugins.allow)"
    return None


def bare_name(requirement: str) -> str:
    """The name in a requirement such as `memory>=0.1`."""
    return re.split(r"[<>=!~ \[;]", requirement, maxsplit=1)[0]
