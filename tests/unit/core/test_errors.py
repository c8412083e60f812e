"""Failures are described in one form and without paths of this machine."""

import re

import pytest

from tests.complexity import is_linear
from zapomni_core import errors as core_errors
from zapomni_core.errors import (
    KINDS,
    ConfigurationError,
    DatabaseError,
    ProcessingError,
    ToolError,
    describe_failure,
    flaw_of,
    without_paths,
)
from zapomni_db import errors as db_errors
from zapomni_db.errors import StoreDamagedError, StoreFullError, StoreUnavailableError
from zapomni_db.sqlite.connection import shown

GENERIC = "Something went wrong."


@pytest.mark.parametrize(
    ("error", "code", "status", "recoverable"),
    [
        (db_errors.InvalidInputError("text is empty"), "INVALID_ARGUMENTS", 400, True),
        (db_errors.MemoryNotFoundError("there is no memory x"), "MEMORY_NOT_FOUND", 404, True),
        (db_errors.JobNotFoundError("there is no job x"), "JOB_NOT_FOUND", 404, True),
        (db_errors.EmbedderMismatchError("run: zapomni reindex"), "EMBEDDER_MISMATCH", 503, False),
        (StoreDamagedError("go back to a backup"), "STORE_DAMAGED", 503, False),
        (db_errors.StoreTooNewError("update Zapomni"), "STORE_TOO_NEW", 503, False),
        (db_errors.StoreReplacedError("start the server again"), "STORE_REPLACED", 503, False),
        (StoreFullError("free some space"), "STORE_FULL", 503, True),
        (StoreUnavailableError("try again"), "STORE_UNAVAILABLE", 503, True),
        (ConfigurationError("the store keeps no graph"), "CONFIGURATION", 503, False),
        (ToolError("not today"), "REFUSED", 400, True),
    ],
)
def test_messages_for_the_client_are_passed_on(error, code, status, recoverable):
    failure = describe_failure(error, GENERIC)
    assert (failure.message, failure.error_code, failure.status_code, failure.recoverable) == (
        str(error),
        code,
        status,
        recoverable,
    )


class UnreadableError(ToolError):
    def __str__(self):
        raise RuntimeError("unreadable")


class Undecided:
    def __bool__(self):
        raise RuntimeError("undecided")


class BareError(ToolError):
    def __init__(self):
        """Does not call the constructor of ToolError."""


@pytest.mark.parametrize(
    ("error", "message", "suggestion", "recoverable", "flaw"),
    [
        (ToolError("no", suggestion=5), "no", None, True, ["suggestion", "int"]),
        (ToolError("no", suggestion=["a"]), "no", None, True, ["suggestion", "list"]),
        (ToolError("caf\udce9"), "caf\ufffd", None, True, ["characters"]),
        (ToolError("no", suggestion="\ud800"), "no", "\ufffd", True, ["characters"]),
        (ToolError("no", recoverable=None), "no", None, False, ["'recoverable'", "NoneType"]),
        (ToolError("no", recoverable="yes"), "no", None, True, ["'recoverable'", "str"]),
        (ToolError(5), "5", None, True, None),
        (BareError(), "", None, True, None),
    ],
)
def test_malformed_tool_errors_are_reported(error, message, suggestion, recoverable, flaw):
    failure = describe_failure(error, GENERIC)
    assert (failure.error_code, failure.message, failure.recoverable) == ("REFUSED", message, recoverable)
    assert failure.suggestion == (suggestion or "Do as the message says, or do without it.")
    found = flaw_of(error)
    assert found is None if flaw is None else all(part in found for part in flaw)


@pytest.mark.parametrize("error", [UnreadableError("no"), ToolError("no", recoverable=Undecided())])
def test_an_unreadable_error_is_reported_as_an_internal_error(error):
    failure = describe_failure(error, GENERIC)
    assert (failure.error_code, failure.message) == ("INTERNAL_ERROR", GENERIC)


def test_errors_that_need_a_restart_do_not_suggest_a_retry():
    failure = describe_failure(db_errors.StoreReplacedError("the file was replaced"), GENERIC)
    assert (failure.recoverable, failure.retry_after_seconds) == (False, None)
    assert failure.model_dump()["suggestion"] == "Ask the user to start the server again; until then every call fails."
    assert describe_failure(StoreUnavailableError("try again"), GENERIC).retry_after_seconds == 5


def test_only_recoverable_failures_suggest_trying_again():
    for kind in KINDS:
        failure = describe_failure(kind("x"), GENERIC).model_dump()
        assert failure["recoverable"] or "Try again" not in failure["suggestion"], kind


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DatabaseError("secret"), "DATABASE_UNAVAILABLE", "Database temporarily unavailable."),
        (ProcessingError("secret"), "PROCESSING_ERROR", GENERIC),
        (KeyError("secret"), "INTERNAL_ERROR", GENERIC),
    ],
)
def test_other_exceptions_are_reported_by_kind(error, code, message):
    failure = describe_failure(error, GENERIC)
    assert failure.error_code == code
    assert failure.message.startswith(message)


def test_every_error_code_is_in_upper_snake_case():
    kinds = [kind for kind in (*vars(db_errors).values(), *vars(core_errors).values()) if isinstance(kind, type)]
    simple = [kind for kind in kinds if kind.__init__ in (Exception.__init__, ValueError.__init__)]
    assert len(simple) > 8
    for kind in simple:
        code = describe_failure(kind("x"), GENERIC).error_code
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code)
        assert not re.search("STORE[A-Z]|EMBEDDER[A-Z]", code)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ada/memory.db",
        "/home/ada/my own files/memory.db",
        "/home/ada/the store's place/it's here.db",
        "C:\\Users\\Ada Lovelace\\memory.db",
        "/home/ada/(old)/a,b;c.db",
    ],
)
def test_paths_are_removed(path):
    text = without_paths(f"The store {shown(path)} is damaged (its file is short); delete {shown(path + '.lock')}.")
    assert text == "The store … is damaged (its file is short); delete …."


def test_text_that_is_not_a_path_is_kept():
    text = "the embedder's vectors and/or 'words' of 3/4 texts: run zapomni reindex --embedder 'mine'"
    assert without_paths(text) == text


@pytest.mark.parametrize("unit", ["'", "/", "\\", "'/", "http://", "/.", "'/a'\"'\""])
@pytest.mark.parametrize("quote", ["", "'", "'/'"])
def test_removing_paths_takes_linear_time(quote, unit):
    assert is_linear(lambda text: without_paths(quote + text + "?"), unit, 50_000)


def test_urls_are_not_treated_as_paths():
    text = "LLM quota exceeded. Check billing at http://127.0.0.1:8080/v1."
    assert without_paths(text) == text
    assert without_paths("see https://ada:secret@there/x") == "see https:…"
    assert without_paths("see https://there/x?key=secret, or file:///etc/passwd") == "see https:…, or file:…"
