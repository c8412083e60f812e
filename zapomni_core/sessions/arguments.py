"""Checks the arguments of MemoryManager. A ValueError names the field and the rule, never the value."""

from datetime import UTC, datetime
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

from zapomni_core.memory.content import LONGEST_TEXT
from zapomni_core.sessions.models import LONGEST_USER_ID, Role
from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter, parse_metadata_filter
from zapomni_db.records import LARGEST_NUMBER
from zapomni_db.texts import check_encodable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zapomni_db.arrays import Vector

ROLES: tuple[str, ...] = get_args(Role)


def user_id_of(value: Any) -> str:
    """A user's id."""
    text = _text("user_id", value)
    if not text.strip():
        raise InvalidInputError("user_id cannot be empty")
    if len(text) > LONGEST_USER_ID:
        raise InvalidInputError(f"user_id exceeds maximum length ({LONGEST_USER_ID} characters)")
    check_encodable("user_id", text)
    return text


def session_id_of(value: Any) -> str:
    """A session's id as the store writes it; a text that is a UUID will do."""
    try:
        return str(value if isinstance(value, UUID) else UUID(value))
    except (TypeError, ValueError, AttributeError):
        raise InvalidInputError("session_id must be a UUID") from None


def role_of(value: Any) -> str:
    """The role of a message: one of the three texts, or a member of an enumeration that equals one."""
    if value not in ROLES:
        raise InvalidInputError(f"role must be one of: {', '.join(ROLES)}")
    return ROLES[ROLES.index(value)]


def content_of(value: Any) -> str:
    """A text exactly as it was given."""
    text = _text("content", value)
    if not text.strip():
        raise InvalidInputError("content cannot be empty or whitespace-only")
    if len(text) > LONGEST_TEXT:
        raise InvalidInputError(f"content exceeds maximum length ({LONGEST_TEXT:,} characters)")
    check_encodable("content", text)
    return text


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} must be text")
    return value


def count_of(field: str, value: Any) -> int:
    """A limit: any whole number above 0, numpy's too."""
    try:
        count = None if isinstance(value, bool) else index(value)
    except TypeError:
        count = None
    if count is None:
        raise InvalidInputError(f"{field} must be a whole number greater than 0")
    if count <= 0:
        raise InvalidInputError(f"{field} must be greater than 0")
    return count


def embedding_of(field: str, value: Any, dimension: int) -> "Vector":
    """A vector of the manager's dimension."""
    _prepare_numpy()
    import numpy as np

    try:
        given = np.asarray(value)
        vector = given.astype(np.float64, copy=False) if _holds_numbers(given) else None
    except (TypeError, ValueError, OverflowError):
        vector = None
    if vector is None:
        raise InvalidInputError(f"{field} must be a list of numbers")
    if vector.shape != (dimension,):
        raise InvalidInputError(f"{field} must have {dimension} dimensions")
    if not np.abs(vector).max() <= LARGEST_NUMBER:  # which is so for what is not a number too
        raise InvalidInputError(f"{field} must hold numbers up to {LARGEST_NUMBER:g}")
    single: Vector = vector.astype(np.float32)
    return single


def _holds_numbers(given: "NDArray[Any]") -> bool:
    """Whether an array holds numbers. Numpy reads some texts as numbers, and large whole numbers as objects."""
    return given.dtype.kind in "iuf" or all(type(one) in (int, float) for one in given.flat)


@cache
def _prepare_numpy() -> None:
    """Configures numpy once: that takes longer than reading a vector."""
    from zapomni_core.embedding.default import import_numpy

    import_numpy()


def range_of(start: Any, end: Any) -> tuple[datetime, datetime]:
    """Two moments in UTC, the first not after the second."""
    first, last = _moment("start_date", start), _moment("end_date", end)
    if last < first:
        raise InvalidInputError("end_date must not be before start_date")
    return first, last


def filter_of(value: Any) -> Filter:
    """A filter on the metadata of documents: any of the values of a key, all of `tags`."""
    return parse_metadata_filter("metadata_filters", value)


def _moment(field: str, value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidInputError(f"{field} must be a datetime")
    return value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
