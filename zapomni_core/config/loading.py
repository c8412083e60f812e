"""Loads the settings: defaults, then the file, then the environment."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from zapomni_core.config.files import ABSENT, CONFIG_VARIABLE, settings_file
from zapomni_core.config.leaves import Leaves, dotted, flat, tree, untouched
from zapomni_core.config.mistakes import lines
from zapomni_core.config.sources import env_file_variables, leaves_of_file, leaves_of_variables, resolved, usual_key
from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import Settings

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in effect.

    `origins` tells for each dotted key whether its value is the "default", or else the file or variable it came from.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None


def load(
    explicit: Path | None = None, *, env_file: Path | None = None, environ: Mapping[str, str] | None = None
) -> Config:
    """The settings in effect. `env_file` adds variables that the environment does not have.

    Everything that is wrong is told in one ConfigurationError, a line for each problem.
    """
    problems: list[str] = []
    variables = _variables(os.environ if environ is None else environ, env_file, problems)
    file, written = _read(explicit, variables, problems)
    exported = leaves_of_variables(variables, problems)
    leaves = resolved(untouched(written, exported), variables, problems) | exported
    leaves |= usual_key(leaves, variables)
    settings = _validated(leaves, problems)
    if problems or settings is None:
        raise ConfigurationError("\n".join(problems))
    return Config(settings, _origins(settings, leaves), file)


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        problems.append(str(error))
    except ABSENT as error:
        problems.append(f"{error.filename} does not exist")


def _variables(environ: Mapping[str, str], env_file: Path | None, problems: list[str]) -> dict[str, str]:
    variables = {name: value for name, value in environ.items() if value}
    if env_file is not None:
        present = {name.upper() for name in variables}
        with _noting(problems):
            added = env_file_variables(env_file, problems)
            variables |= {name: value for name, value in added.items() if name.upper() not in present}
    return variables


def _read(explicit: Path | None, variables: Mapping[str, str], problems: list[str]) -> tuple[Path | None, Leaves]:
    with _noting(problems):
        file = settings_file(explicit, variables)
        named = explicit or CONFIG_VARIABLE in variables
        with nullcontext() if named else suppress(*ABSENT):
            return file, leaves_of_file(file, problems)
    return None, {}


def _validated(leaves: Leaves, problems: list[str]) -> Settings | None:
    try:
        return Settings.model_validate(tree(leaves))
    except ValidationError as invalid:
        problems += [line for error in invalid.errors() for line in lines(error, leaves)]
        return None


def _origins(settings: Settings, leaves: Leaves) -> dict[str, str]:
    return {
        dotted(path): leaves[path].origin if path in leaves else DEFAULT
        for path, value in flat(settings.model_dump())
        if value != {}
    }
