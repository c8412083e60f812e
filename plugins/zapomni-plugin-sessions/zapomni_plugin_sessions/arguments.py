"""Parses arguments that JSON writes as text: ids, days and moments. Errors name the field and the rule."""

import re
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from zapomni_core.plugin import InvalidInputError

_WEEK = re.compile(r"\d{4}-?W\d\d")
_REST_OF_DAY = timedelta(days=1, microseconds=-1)


def uuid_of(field: str, text: str) -> UUID:
    """An id."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInputError(f"{field} must be a UUID") from None


def start_of(field: str, text: str) -> datetime:
    """A moment; the first one of a day. UTC if it has no zone."""
    if _WEEK.fullmatch(text):  # which Python takes for its Monday
        raise InvalidInputError(f"{field} must be a day or a moment, such as 2026-05-08, not a week")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(f"{field} must be ISO 8601, such as 2026-05-08 or 2026-05-08T12:00:00+00:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def end_of(field: str, text: str) -> datetime:
    """A moment; the last one of a day."""
    moment = start_of(field, text)
    return moment + _REST_OF_DAY if _is_day(text) else moment


def _is_day(text: str) -> bool:
    """Whether a text is a date without a time, however ISO 8601 writes it."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
