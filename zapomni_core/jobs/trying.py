"""When a job is tried again, and what is told of a failure."""

import random

from zapomni_core.errors import ZapomniError
from zapomni_core.failures import writable
from zapomni_db.errors import DatabaseError, InvalidInputError

FIRST_SECONDS = 2.0
LONGEST_SECONDS = 600.0
JITTER = 0.25
LONGEST_ERROR = 500
_DOUBLINGS = 20  # enough for the longest; a job may have been tried any number of times

_MEANT_FOR_PEOPLE = (ZapomniError, DatabaseError, InvalidInputError)


def seconds_after(attempts: int) -> float:
    """How long to wait after so many attempts: twice as long each time, a quarter more or less so that not all come at once."""
    seconds = min(FIRST_SECONDS * 2.0 ** min(attempts - 1, _DOUBLINGS), LONGEST_SECONDS)
    return seconds * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret


def told(error: BaseException) -> str:
    """What is kept of a failure: its type, and its message only where one of ours wrote it, for others may quote a memory."""
    name = type(error).__name__
    text = " ".join(str(error).split()) if isinstance(error, _MEANT_FOR_PEOPLE) else ""
    return writable(f"{name}: {text}"[:LONGEST_ERROR] if text else name)
