"""Waiting grows and stays within bounds; what is told of a failure quotes no memory."""

import pytest

from zapomni_core.errors import ConfigurationError
from zapomni_core.jobs.trying import LONGEST_ERROR, seconds_after, told
from zapomni_db.errors import InvalidInputError


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 2), (2, 4), (5, 32), (9, 512), (10, 600), (100_000, 600)])
def test_the_wait_doubles_up_to_ten_minutes_a_quarter_more_or_less(attempts, seconds):
    waits = {seconds_after(attempts) for _ in range(100)}
    assert all(seconds * 0.75 <= wait <= seconds * 1.25 for wait in waits)
    assert len(waits) > 1


def test_an_error_of_ours_is_told_in_one_line_of_modest_length():
    assert told(ConfigurationError("a\n b")) == "ConfigurationError: a b"
    assert told(InvalidInputError("text is empty")) == "InvalidInputError: text is empty"
    assert len(told(ConfigurationError("x" * 10_000))) == LONGEST_ERROR


def test_of_other_errors_only_the_type_is_told():
    assert told(KeyError("Ada's secret")) == "KeyError"
    assert told(ConfigurationError()) == "ConfigurationError"
