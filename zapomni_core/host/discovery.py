"""Finds plugins by the metadata of installed packages, without importing them."""

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
    """A plugin before its import: an entry point, a file that the user named, or an object that a test passes."""

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
    except Exception:  # noqa: BLE001 (one unreadable file makes this fail for all packages)
        first_on_path = {_metadata(one, "Name") or _folder(one): one for one in reversed([*distributions()])}
        return [found for one in first_on_path.values() for found in _entry_points_of(one)]


def _entry_points_of(distribution: Distribution) -> list[Found]:
    """The plugins of one distribution; if its entry points cannot be read, one plugin that is marked as damaged."""
    try:
        return [_found(point, distribution) for point in distribution.entry_points.select(group=GROUP)]
    except Exception as error:  # noqa: BLE001 (any content is possible)
        name = _metadata(distribution, "Name")
        damage = f"{_folder(distribution)} has an entry_points.txt that cannot be read ({type(error).__name__})"
        return [Found(normalise(name) or "unknown", name, _metadata(distribution, "Version"), damage=damage)]


def _metadata(distribution: Distribution, key: str) -> str:
    """A field of the metadata; empty if it cannot be read."""
    try:
        return distribution.metadata[key] or ""
    except Exception:  # noqa: BLE001 (as if it were missing)
        return ""


def _found(point: EntryPoint, distribution: Distribution) -> Found:
    """The plugin of an entry point. An interrupted uninstallation leaves metadata without a name or version."""
    name, version = _metadata(distribution, "Name"), _metadata(distribution, "Version")
    damage = "" if name and version else f"{_folder(distribution)} has no {'version' if name else 'name'}"
    return Found(point.name, name, version, point.value, entry_point=point, damage=damage)


def _folder(distribution: Distribution) -> str:
    return str(getattr(distribution, "_path", "its metadata"))


def from_file(path: Path) -> Found:
    """One file as a plugin, named after the file."""
    stem = normalise(path.stem).removeprefix("zapomni_plugin_")
    return Found(stem, target=str(path), file=path.absolute())


def name_problem(name: str) -> str | None:
    """Why a plugin must not have this name; None if it may."""
    if name in PluginsSettings.model_fields:
        return f"'{name}' is a key of the [plugins] table in the settings"
    if not NAME.fullmatch(name):
        return f"'{name}' must be lower-case letters, digits and single underscores"
    return None


def refusal(found: Found, settings: PluginsSettings) -> str | None:
    """Why the settings forbid to load this plugin; None if they do not."""
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
