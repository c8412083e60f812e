"""Shows the settings in effect without their secrets."""

import json
import re
from typing import Any

from pydantic import SecretStr

from zapomni_core.config.config import DEFAULT, Config
from zapomni_core.config.sources import PREFIX, KeyPath, dotted, flat
from zapomni_core.settings import without_password

MASK = "********"
_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|auth|bearer|cookie|dsn|signature|private", re.IGNORECASE
)


def dump(config: Config) -> list[tuple[str, str, str]]:
    """Every setting as key, value and origin, to show or log, with secrets masked.

    All settings of plugins are masked too: only a plugin knows which of its settings are secret.
    """
    return [
        (key, MASK if _is_plugin_setting(key) else value, origin) for key, value, origin in dump_with_plugins(config)
    ]


def dump_with_plugins(config: Config) -> list[tuple[str, str, str]]:
    """The same with the settings of plugins, apart from what looks like a secret. The caller masks the rest."""
    values = {dotted(path): (path, value) for path, value in flat(config.settings.model_dump())}
    return [
        (key, _display(*values[key], _is_reference(origin, config)), origin) for key, origin in config.origins.items()
    ]


def _is_plugin_setting(key: str) -> bool:
    """Whether a key is plugins.NAME.KEY."""
    return key.startswith("plugins.") and key.count(".") > 1


def _is_reference(origin: str, config: Config) -> bool:
    """Whether the file refers to an environment variable for the value, as it does for secrets."""
    return origin not in {DEFAULT, str(config.file)} and not origin.upper().startswith(PREFIX)


def _display(path: KeyPath, value: Any, is_reference: bool) -> str:
    match path, value:
        case _, None:
            return "not set"
        case _, SecretStr():
            return MASK
        case ("plugins", _, _, *_), _ if is_reference or _SECRET.search(dotted(path[2:])):
            return MASK
        case _, str():
            return without_password(value)
    return json.dumps(_masked(value), ensure_ascii=False, default=str)


def _masked(value: Any) -> Any:
    """A value with everything masked that looks like a secret, at any depth."""
    match value:
        case dict():
            return {key: MASK if _SECRET.search(key) else _masked(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_masked(inner) for inner in value]
        case str():
            return without_password(value)
    return value
