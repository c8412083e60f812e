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
