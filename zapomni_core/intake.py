"""What comes in: text and metadata, checked, and what the pipeline reads out of them. Problems name the field and the rule."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from zapomni_db.errors import InvalidInputError
from zapomni_db.texts import check_encodable

# Without a look for circles: what holds itself is too deep, and refused before.
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
_NESTED = (dict, list, tuple)

LONGEST_TEXT = 10_000_000
LONGEST_METADATA = 1_000_000
DEEPEST_METADATA = 100
PREVIEW = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    """What the pipeline uses of a memory's metadata."""

    tags: tuple[str, ...] = ()
    source: str = ""
    author: str = ""
    conversation: str = ""
    timestamp: datetime | None = None
    language: str | None = None


def clean_text(text: str) -> str:
    """The text without blank lines at both ends and trailing white space; the first line's indent stays."""
    if len(text) > LONGEST_TEXT:
        raise InvalidInputError(f"text exceeds maximum length ({LONGEST_TEXT:,} characters)")
    cleaned = re.sub(r"\A(?:[^\S\n]*\n)+", "", text.rstrip())
    if not cleaned.strip():
        raise InvalidInputError("text cannot be empty or whitespace-only")
    check_encodable("text", cleaned)
    return cleaned


def clean_metadata(metadata: Any) -> dict[str, Any]:
    """The metadata as it is kept; InvalidInputError where it could not be kept unchanged."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError("metadata must be an object")
    cleaned = dict(metadata)
    _check_nesting(cleaned)
    try:
        encoded = _JSON.encode(cleaned)
    except (TypeError, ValueError):
        raise InvalidInputError("metadata must be plain JSON: text, numbers, lists and objects") from None
    if len(encoded) > LONGEST_METADATA:
        raise InvalidInputError(f"metadata exceeds maximum length ({LONGEST_METADATA:,} characters as JSON)")
    check_encodable("metadata", encoded)
    return cleaned


def key_of(text: str, metadata: Mapping[str, Any]) -> str:
    """What memories of the same text and metadata have in common, whatever the order of the keys."""
    said = json.dumps([text, metadata], sort_keys=True)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def read_particulars(metadata: Mapping[str, Any]) -> Particulars:
    """What clean metadata says that the pipeline uses."""
    return Particulars(
        tags=_tags(metadata.get("tags")),
        source=_text(metadata, "source"),
        author=_text(metadata, "author"),
        conversation=_text(metadata, "conversation"),
        timestamp=_timestamp(metadata.get("timestamp")),
        language=_text(metadata, "language") or None,
    )


def preview(text: str) -> str:
    """The first characters of a text, on one line."""
    line = " ".join(text.lstrip()[: PREVIEW * 2].split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"


def _check_nesting(metadata: dict[str, Any]) -> None:
    """Keys must be texts on every level, and there must not be more levels than everybody on the way can take."""
    level: list[Any] = [metadata]
    for _ in range(DEEPEST_METADATA):
        level = [value for one in level for value in _inside(one) if isinstance(value, _NESTED)]
        if not level:
            return
    raise InvalidInputError(f"metadata must not be nested more than {DEEPEST_METADATA} levels deep")


def _inside(nested: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    """What an object or a list holds."""
    if not isinstance(nested, dict):
        return nested
    for key in nested:
        if not isinstance(key, str):
            raise InvalidInputError("metadata must have texts as keys")
    return nested.values()


def _tags(tags: Any) -> tuple[str, ...]:
    if tags is None:
        return ()
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) and tag for tag in tags):
        raise InvalidInputError("metadata.tags must be a list of texts")
    return tuple(dict.fromkeys(tags))


def _text(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(f"metadata.{key} must be text")
    return value


def _timestamp(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("metadata.timestamp must be ISO 8601, such as 2026-05-08T12:00:00+00:00") from None
