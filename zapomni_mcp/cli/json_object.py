"""Reads options whose value is a JSON object."""

import json
from typing import Any

import click


def json_object(_ctx: click.Context, _option: click.Parameter, value: str | None) -> dict[str, Any]:
    """The object, an empty one where none was given; a usage error for anything else. For click's `callback`."""
    if value is None:
        return {}
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        raise click.BadParameter("this is no JSON") from None
    if not isinstance(found, dict):
        raise click.BadParameter('this is no JSON object such as \'{"project": "garden"}\'')
    return found


def combined(from_json: dict[str, Any], given: dict[str, Any], option: str) -> dict[str, Any]:
    """What a JSON option and the other options say together; a usage error where both say the same thing."""
    if twice := sorted(from_json.keys() & given.keys()):
        raise click.UsageError(f"{', '.join(twice)}: given in {option} and by an option of its own; choose one.")
    return from_json | given
