"""Reads options whose value is a text: an empty one is hardly meant, but what a script makes of an unset variable."""

from typing import Any

import click


class _Text(click.types.StringParamType):
    """A text that says something; its name in the help is click's own."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        if not text:
            self.fail("it must not be empty; leave the option out if you mean none", param, ctx)
        return text


TEXT = _Text()
