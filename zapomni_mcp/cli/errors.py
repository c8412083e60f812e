"""Failures of commands: messages and exit codes."""

import difflib
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from zapomni_core.errors import ConfigurationError, LLMUnavailableError, ProcessingError
from zapomni_db.errors import DatabaseError, InvalidInputError
from zapomni_mcp.cli.output import one_line

if TYPE_CHECKING:
    from zapomni_core.app import App

log = logging.getLogger("zapomni.command")

CAUSE_IN_LOG = "; the log has the cause"
"""The end of the core's messages to clients. Commands log nothing by default and show the cause instead."""


class InvalidRequest(click.ClickException):
    """The command cannot do what it was asked for. Prints one line for each reason and exits with 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the reasons on standard error."""
        for line in self.message.splitlines():
            click.echo(f"Error: {line}", file=file, err=True)


@contextmanager
def readable_errors(app: "App") -> Iterator[None]:
    """Turn errors into messages: invalid input and settings exit with 2, all other failures with 1."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidRequest(str(error)) from None
    except ConfigurationError as error:  # before ProcessingError: a missing embedder is both
        report_failed_plugins(app)
        raise InvalidRequest(str(error)) from None
    except LLMUnavailableError as error:
        raise click.ClickException(f"{error.failure.message} {error.failure.suggestion}") from None
    except (DatabaseError, ProcessingError) as error:
        log.exception("command_failed")
        raise click.ClickException(_with_cause(error)) from None


def _with_cause(error: Exception) -> str:
    """The message and, where an embedder or extractor failed, the exception that it raised."""
    cause = error.__cause__
    if cause is None or not isinstance(error, ProcessingError):
        return str(error)
    reason = one_line(f"{type(cause).__name__}: {cause}").removesuffix(": ")
    return f"{str(error).removesuffix(CAUSE_IN_LOG)}\nCause: {reason}"


def report_failed_plugins(app: "App") -> None:
    """Print the names of the plugins that failed on standard error."""
    if failed := app.report.in_state("failed"):
        click.echo(f"{len(failed)} failed ({', '.join(one.name for one in failed)}), run: zapomni doctor", err=True)


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean '...'?` with the nearest known name; an empty string if none is similar."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
