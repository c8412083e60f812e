"""Retry delays grow up to a limit, and failure texts quote no memory."""

import pytest

from zapomni_core.errors import ConfigurationError
from zapomni_core.jobs.worker import LONGEST_ERROR, error_text, seconds_after
from zapomni_db.errors import InvalidInputError


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 2), (2, 4), (5, 32), (9, 512), (10, 600), (100_000, 600)])
def test_the_wait_doubles_up_to_ten_minutes_a_quarter_more_or_less(attempts, seconds):
    waits = {seconds_after(attempts) for _ in range(100)}
    assert all(seconds * 0.75 <= wait <= seconds * 1.25 for wait in waits)
    assert len(waits) > 1


def test_a_known_error_is_reported_in_one_short_line():
    assert error_text(ConfigurationError("a\n b")) == "ConfigurationError: a b"
    assert error_text(InvalidInputError("text is empty")) == "InvalidInputError: text is empty"
    assert len(error_text(ConfigurationError("x" * 10_000))) == LONGEST_ERROR


def test_other_errors_are_reported_by_type():
    assert error_text(KeyError("Ada's secret")) == "KeyError"
    assert error_text(ConfigurationError()) == "ConfigurationError"
