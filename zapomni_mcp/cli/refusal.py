"""The error for what the user asked for and cannot be done."""

from typing import Any

import click


class Refusal(click.ClickException):
    """Says why, in a line for each reason, and exits with 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the reasons on standard error."""
        for line in self.message.splitlines():
            click.echo(f"Error: {line}", file=file, err=True)
