"""Shows the settings in effect without their secrets."""

import json
import re
from typing import Any

from pydantic import SecretStr

from zapomni_core.config.leaves import KeyPath, dotted, flat
from zapomni_core.config.loading import DEFAULT, Config
from zapomni_core.config.sources import PREFIX
from zapomni_core.settings import without_password

MASK = "********"
_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|auth|bearer|cookie|dsn|signature|private", re.IGNORECASE
)


def dump(config: Config) -> list[tuple[str, str, str]]:
    """Every setting as key, value and origin, to show to the user or to log; whatever may be a secret is masked.

    So is everything that a plugin is told: only the plugin knows what of it is secret, and it is not asked here.
    """
    return [(key, MASK if _is_guests(key) else value, origin) for key, value, origin in dump_open(config)]


def dump_open(config: Config) -> list[tuple[str, str, str]]:
    """The same with what plugins are told, unless it looks like a secret; for those who ask the plugin about the rest."""
    values = {dotted(path): (path, value) for path, value in flat(config.settings.model_dump())}
    return [
        (key, _shown(*values[key], _is_reference(origin, config)), origin) for key, origin in config.origins.items()
    ]


def _is_guests(key: str) -> bool:
    """Whether a setting is one of a plugin's own: plugins.NAME.KEY."""
    return key.startswith("plugins.") and key.count(".") > 1


def _is_reference(origin: str, config: Config) -> bool:
    """Whether the file took the value from a variable of the user's choice, which is where secrets are kept."""
    return origin not in {DEFAULT, str(config.file)} and not origin.upper().startswith(PREFIX)


def _shown(path: KeyPath, value: Any, is_reference: bool) -> str:
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
    """The value of a plugin with what looks like a secret masked at any depth."""
    match value:
        case dict():
            return {key: MASK if _SECRET.search(key) else _masked(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_masked(inner) for inner in value]
        case str():
            return without_password(value)
    return value
