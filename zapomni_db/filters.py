"""Narrows a search to some memories: what a caller may ask for, and a value that stores translate."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from zapomni_db.errors import InvalidInputError
from zapomni_db.texts import check_encodable

if TYPE_CHECKING:
    from zapomni_db.records import Memory

Scalar = str | int | float | bool | None
Wanted = tuple[Scalar, ...] | Mapping[str, "Wanted"]
"""A condition on a metadata value: any of these values, or an object that holds at least these keys."""

MOST_PARTS = 100
"""Tags and metadata values that one filter may ask for: more than anybody means, and what every store can take."""
DEEPEST = 100
MOST_LISTED = 100
"""Values of a list in metadata that can be asked for; what has more is data, such as a vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A condition on memories. An empty part matches everything.

    `tags` must all be there; of `sources`, `kinds`, `conversations`, `authors` and of each metadata key, any one value.
    Metadata that is a list has each of its values. An object must hold what is asked of its keys, and may hold more. Dates
    are inclusive, on the timestamp, else on the creation; `created_from` and `created_to` on the creation alone.
    """

    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    metadata: Mapping[str, Wanted] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self != Filter()

    @property
    def parts(self) -> int:
        """The number of conditions: a part with several values is one, and so is each metadata key."""
        named = (self.tags, self.sources, self.kinds, self.conversations, self.authors)
        dates = (self.date_from, self.date_to, self.created_from, self.created_to)
        return sum(map(bool, named + dates)) + len(self.metadata)

    @property
    def metadata_values(self) -> Iterator[tuple[tuple[str, ...], tuple[Scalar, ...]]]:
        """The path of keys to each value that is asked for, and what it may be."""
        yield from _leaves((), self.metadata)


def _leaves(path: tuple[str, ...], wanted: Wanted) -> Iterator[tuple[tuple[str, ...], tuple[Scalar, ...]]]:
    if isinstance(wanted, tuple):
        yield path, wanted
        return
    for key, inner in wanted.items():
        yield from _leaves((*path, key), inner)


NO_FILTER = Filter()

_LARGEST_BITS = 10_000  # of a number: Python refuses to write those with more than 4,300 digits
_FIELDS = {"source": "sources", "kind": "kinds", "conversation": "conversations", "author": "authors"}


REST_OF_DAY = timedelta(days=1, microseconds=-1)


def is_day(text: str) -> bool:
    """Whether a text is a date without a time, however ISO 8601 writes it: 2026-05-08, 20260508, 2026-W19-5."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def parse_filter(filters: Mapping[str, Any] | None) -> Filter:
    """A caller's filters as a Filter; InvalidInputError names the field and the rule."""
    parts: dict[str, Any] = {"metadata": {}}
    for key, value in _with_text_keys("filters", filters or {}).items():
        if key == "tags":
            parts["tags"] = _texts(key, value)
        elif key in _FIELDS:
            named = _texts(key, value)
            parts[_FIELDS[key]] = _any_spelling(named) if key == "conversation" else named
        elif key in ("date_from", "date_to"):
            parts[key] = _moment(key, value, end=key == "date_to")
        else:
            parts["metadata"][key] = _wanted(f"filters.{key[:100]}", value)
    wanted = _checked("filters", Filter(**parts))
    if wanted.date_from and wanted.date_to and wanted.date_from > wanted.date_to:
        raise InvalidInputError("filters.date_from must not be after filters.date_to")
    return wanted


def parse_metadata_filter(field: str, filters: Any) -> Filter:
    """A filter on metadata alone, from an argument of that name: `tags`, all of them, and any other key."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"{field} must be an object")
    asked = _with_text_keys(field, filters or {})
    tags = _texts("tags", asked.pop("tags"), field) if "tags" in asked else ()
    metadata = {key: _wanted(f"{field}.{key[:100]}", value) for key, value in asked.items()}
    return _checked(field, Filter(tags=tags, metadata=metadata))


def _with_text_keys(field: str, filters: Mapping[Any, Any]) -> dict[str, Any]:
    for key in filters:
        if not isinstance(key, str):
            raise InvalidInputError(f"{field} must have texts as keys")
        check_encodable(f"a key of {field}", key)
    return dict(filters)


def _checked(field: str, wanted: Filter) -> Filter:
    if len(wanted.tags) + sum(1 for _ in wanted.metadata_values) > MOST_PARTS:
        raise InvalidInputError(f"{field} must not have more than {MOST_PARTS} tags and keys")
    return wanted


def _texts(key: str, value: Any, field: str = "filters") -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(one, str) and one for one in values):
        raise InvalidInputError(f"{field}.{key} must be text or a list of texts")
    _check_values(f"{field}.{key}", values)
    return tuple(dict.fromkeys(values))


def _any_spelling(conversations: tuple[str, ...]) -> tuple[str, ...]:
    """A session is a conversation, and its id a UUID, which may be written in other ways than the store writes it."""
    spelled = [str(UUID(one)) for one in conversations if _is_uuid(one)]
    return tuple(dict.fromkeys([*conversations, *spelled]))


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _wanted(name: str, value: Any, depth: int = 1) -> Wanted:
    """The conditions on metadata; `name` is the argument and its first key, for messages."""
    if isinstance(value, Mapping) and value and depth < DEEPEST:
        if any(isinstance(key, str) and key.startswith("$") for key in value):
            raise InvalidInputError(f"{name} must be values to compare with; there are no operators such as $gt")
        return {key: _wanted(name, inner, depth + 1) for key, inner in _with_text_keys(name, value).items()}
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(one is None or isinstance(one, str | int | float | bool) for one in values):
        raise InvalidInputError(
            f"{name} must be text, a number, true, false, null, a list of those, or an object of such values, and not empty"
        )
    _check_values(name, values)
    return tuple(values)


def _check_values(name: str, values: Iterable[Scalar]) -> None:
    for one in values:
        if isinstance(one, str):
            check_encodable(name, one)
        elif isinstance(one, int) and one.bit_length() > _LARGEST_BITS:
            raise InvalidInputError(f"{name} must not be a number of thousands of digits")


def _moment(key: str, value: Any, *, end: bool) -> datetime:
    """A date covers its day; a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(value)
        if end and is_day(value):
            moment += REST_OF_DAY
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"filters.{key} must be a date such as 2026-05-08 or 2026-05-08T12:00:00+00:00"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def meets(memory: "Memory", wanted: Filter) -> bool:
    """Whether a memory meets a filter: for stores that look at one memory after the other."""
    moment = memory.timestamp or memory.created_at
    named = (
        (wanted.sources, memory.source),
        (wanted.kinds, memory.kind),
        (wanted.conversations, memory.conversation),
        (wanted.authors, memory.author),
    )
    bounds = (
        (wanted.date_from, moment, 1),
        (wanted.date_to, moment, -1),
        (wanted.created_from, memory.created_at, 1),
        (wanted.created_to, memory.created_at, -1),
    )
    return (
        set(wanted.tags) <= set(memory.tags)
        and all(not asked or value in asked for asked, value in named)
        and all(bound is None or (value >= bound if sign > 0 else value <= bound) for bound, value, sign in bounds)
        and all(_holds(memory.metadata, path, asked) for path, asked in wanted.metadata_values)
    )


def _holds(value: Any, path: tuple[str, ...], asked: tuple[Scalar, ...]) -> bool:
    """Whether a value within metadata is one of those asked for, or lists one. 1 is 1.0, but neither true nor "1"."""
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    values = value if isinstance(value, list | tuple) else [value]
    return len(values) <= MOST_LISTED and any(_is(one, wanted) for one in values for wanted in asked)


def _is(value: Any, asked: Scalar) -> bool:
    return isinstance(value, bool) == isinstance(asked, bool) and bool(value == asked)
