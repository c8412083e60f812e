"""Where the settings file is, and its text."""

import os
from collections.abc import Mapping
from pathlib import Path

from zapomni_core.errors import ConfigurationError

CONFIG_VARIABLE = "ZAPOMNI_CONFIG"
ABSENT = (FileNotFoundError, NotADirectoryError)


def settings_file(explicit: Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The file that settings are read from, which need not exist. Nothing is looked for in the working directory."""
    named = explicit or (os.environ if environ is None else environ).get(CONFIG_VARIABLE)
    try:
        return Path(named).expanduser().absolute() if named else _default_file()
    except RuntimeError as error:
        raise ConfigurationError(
            f"the home directory is unknown; set HOME, or name the settings file with --config or {CONFIG_VARIABLE}"
        ) from error


def _default_file() -> Path:
    import platformdirs

    folder = platformdirs.user_config_path("zapomni")
    if not folder.is_absolute():
        raise RuntimeError("a relative folder would be one in the working directory")
    return folder / "zapomni.toml"


def text_of(file: Path) -> str:
    """What is in the file, line ends as they are; one of `ABSENT` is raised if there is none."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            return stream.read()
    except ABSENT:
        raise
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not UTF-8 (byte {error.start})") from error
