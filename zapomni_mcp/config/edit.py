"""Edits the settings file: keeps comments and order, and replaces the file atomically."""

import os
import shutil
import tempfile
from collections.abc import MutableMapping, MutableSequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from zapomni_core.config.sources import ABSENT, text_of
from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import PluginsSettings, is_name, normalise

Table = MutableMapping[str, Any]


def set_plugin_enabled(file: Path, name: str, enabled: bool) -> None:
    """Enable or disable a plugin in the settings file, which is created if it does not exist."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if not is_name(name):
        raise ConfigurationError(f"invalid name of a plugin or distribution: '{name}'")
    before = _text_or_empty(file)
    try:
        document = tomlkit.parse(before)
        _switch(document, name, enabled)
    except (TOMLKitError, ValueError) as error:
        raise ConfigurationError(f"cannot edit {file}: {error}") from error
    after = tomlkit.dumps(document)
    if after != before:
        _write(file, after)


def _text_or_empty(file: Path) -> str:
    with suppress(*ABSENT):
        return text_of(file)
    return ""


def _switch(document: Table, name: str, enabled: bool) -> None:
    if enabled and "plugins" not in document:
        return
    plugins = document.setdefault("plugins", {})
    if not isinstance(plugins, MutableMapping):
        raise ValueError("plugins must be a table")  # noqa: TRY004 (reported as an error in the file)
    if not enabled:
        _remove(plugins, "enable", name)
        _add(plugins, "disable", name)
        return
    _remove(plugins, "disable", name)
    if plugins.get("policy") == "allowlist":
        _add(plugins, "allow", name)


def _remove(plugins: Table, key: str, name: str) -> None:
    names = _list(plugins, key)
    for index in reversed(range(len(names))):
        if normalise(names[index]) == normalise(name):
            del names[index]


def _add(plugins: Table, key: str, name: str) -> None:
    names = _list(plugins, key)
    if normalise(name) not in map(normalise, names):
        names.append(name)
        plugins.setdefault(key, names)


def _list(plugins: Table, key: str) -> MutableSequence[str]:
    """The list in the file, to be changed in place; a string of names separated by commas becomes a list."""
    value = plugins.get(key, [])
    names = _names(key, value)
    if isinstance(value, str):
        plugins[key] = list(names)
    in_file: MutableSequence[str] = plugins.get(key, [])
    return in_file


def _names(key: str, value: Any) -> tuple[str, ...]:
    try:
        checked = PluginsSettings.model_validate({key: value})
    except ValidationError as error:
        raise ValueError(f"plugins.{key} must be a list of names") from error
    names: tuple[str, ...] = getattr(checked, key)
    return names


def _write(file: Path, text: str) -> None:
    try:
        target = file.resolve()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            _fill(descriptor, text)
            if target.exists():
                shutil.copymode(target, temporary)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink()
            raise
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(f"cannot write {file}: {error}") from error


def _fill(descriptor: int, text: str) -> None:
    with open(descriptor, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
