"""How commands on memories fail, ours and those of plugins."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from zapomni_core.errors import ConfigurationError, LLMUnavailableError, ProcessingError
from zapomni_db.errors import DatabaseError, InvalidInputError
from zapomni_mcp.cli.composition import tell_of_failures
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.refusal import Refusal

if TYPE_CHECKING:
    from zapomni_core.app import App

log = logging.getLogger("zapomni.command")

IN_THE_LOG = "; the log has the cause"
"""How the core ends a message for clients. Commands log nothing by default, and show the cause themselves."""


@contextmanager
def told_in_a_sentence(app: "App") -> Iterator[None]:
    """What was asked for wrongly, or set wrongly, is a refusal (2); what could not be done is told in a sentence (1)."""
    try:
        yield
    except InvalidInputError as error:
        raise Refusal(str(error)) from None
    except ConfigurationError as error:  # before ProcessingError: a missing embedder is both
        tell_of_failures(app)
        raise Refusal(str(error)) from None
    except LLMUnavailableError as error:
        raise click.ClickException(f"{error.failure.message} {error.failure.suggestion}") from None
    except (DatabaseError, ProcessingError) as error:
        log.exception("command_failed")
        raise click.ClickException(_with_cause(error)) from None


def _with_cause(error: Exception) -> str:
    """The message and, where an embedder or extractor failed, what it raised."""
    cause = error.__cause__
    if cause is None or not isinstance(error, ProcessingError):
        return str(error)
    reason = one_line(f"{type(cause).__name__}: {cause}").removesuffix(": ")
    return f"{str(error).removesuffix(IN_THE_LOG)}\nCause: {reason}"
