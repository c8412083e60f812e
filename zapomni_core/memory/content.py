"""Texts, queries and metadata: checks them, reads the metadata that the search uses, and changes it in place."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from zapomni_db.errors import InvalidInputError
from zapomni_db.texts import check_encodable

if TYPE_CHECKING:
    from zapomni_db.records import Memory

# Without a check for cycles: a cycle is nested too deeply, and refused before.
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
_NESTED = (dict, list, tuple)

LONGEST_TEXT = 10_000_000
LONGEST_QUERY = 1000
PREVIEW = 100
LONGEST_METADATA = 1_000_000
DEEPEST_METADATA = 100
INDEXED = ("author", "timestamp", "conversation", "language")
"""Metadata that is part of the search index."""
LONGEST_AUTHOR = 200
"""Characters of an author's name that are searched: they are part of every chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMetadata:
    """The keys of a memory's metadata that the index and the filters use."""

    tags: tuple[str, ...] = ()
    source: str = ""
    author: str = ""
    conversation: str = ""
    timestamp: datetime | None = None
    language: str | None = None


_USED = frozenset(KnownMetadata.__slots__)
_NONE = KnownMetadata()


def clean_text(text: str) -> str:
    """The text without blank lines at both ends and trailing white space; the first line's indent stays."""
    if len(text) > LONGEST_TEXT:
        raise InvalidInputError(f"text exceeds maximum length ({LONGEST_TEXT:,} characters)")
    cleaned = re.sub(r"\A(?:[^\S\n]*\n)+", "", text.rstrip())
    if not cleaned.strip():
        raise InvalidInputError("text cannot be empty or whitespace-only")
    check_encodable("text", cleaned)
    return cleaned


def clean_query(query: str) -> str:
    """The query without white space at both ends."""
    query = query.strip()
    if not query:
        raise InvalidInputError("query cannot be empty or whitespace-only")
    if len(query) > LONGEST_QUERY:
        raise InvalidInputError(f"query exceeds maximum length ({LONGEST_QUERY:,} characters)")
    check_encodable("query", query)
    return query


def preview(text: str) -> str:
    """The first characters of a text, on one line."""
    line = " ".join(text.lstrip()[: PREVIEW * 2].split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"


def clean_metadata(metadata: Any) -> dict[str, Any]:
    """The metadata as a dictionary; InvalidInputError if it could not be stored unchanged."""
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


def read_metadata(metadata: Mapping[str, Any], kind: str = "memory") -> KnownMetadata:
    """The keys of clean metadata that the index and the filters use.

    A memory's must have the right types, else InvalidInputError. That of messages and documents may be anything: values of
    another type are stored and not used, and a single text is a tag. A message's conversation is its session.
    """
    if _USED.isdisjoint(metadata):
        return _NONE
    strict = kind == "memory"
    return KnownMetadata(
        tags=_tags(metadata.get("tags"), strict=strict),
        source=_text(metadata, "source", strict=strict),
        author=_text(metadata, "author", strict=strict),
        conversation=_text(metadata, "conversation", strict=strict) if strict else "",
        timestamp=_timestamp(metadata.get("timestamp"), strict=strict),
        language=_text(metadata, "language", strict=strict) or None,
    )


def indexed_text(known: KnownMetadata, heading: str, text: str) -> str:
    """The text of a chunk as it is analysed and embedded: `[8 May 2023] Author: Heading > path: text`."""
    moment = known.timestamp
    date = f"[{moment.day} {moment:%B} {moment.year}] " if moment else ""
    author = f"{known.author[:LONGEST_AUTHOR]}: " if known.author else ""
    return f"{date}{author}{f'{heading}: ' if heading else ''}{text}"


def key_of(text: str, metadata: Mapping[str, Any]) -> str:
    """The key that memories of the same text and metadata share, whatever the order of the metadata's keys."""
    encoded = json.dumps([text, metadata], sort_keys=True)
    return hashlib.blake2b(encoded.encode(), digest_size=16).hexdigest()


def changed_metadata(
    memory: "Memory",
    changes: Mapping[str, Any],
    remove: Sequence[str],
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
) -> dict[str, Any]:
    """The metadata of a memory after these changes; empty tags are left out."""
    metadata = {key: value for key, value in memory.metadata.items() if key not in remove} | dict(changes)
    if add_tags or remove_tags:
        kept = [tag for tag in read_metadata(metadata, memory.kind).tags if tag not in remove_tags]
        metadata["tags"] = list(dict.fromkeys([*kept, *add_tags]))
    return clean_metadata({key: value for key, value in metadata.items() if key != "tags" or value})


def check_changeable(keys: Iterable[str]) -> None:
    """InvalidInputError for keys that are part of the search index: they change only with a new version."""
    for key in keys:
        if key in INDEXED:
            raise InvalidInputError(
                f"metadata.{key} cannot be changed in place; add the memory again with the new {key} and its ID as replaces"
            )


def _check_nesting(metadata: dict[str, Any]) -> None:
    """Keys must be texts on every level, and there must not be too many levels for a JSON parser or a store."""
    level: list[Any] = [metadata]
    for _ in range(DEEPEST_METADATA):
        level = [value for one in level for value in _values(one) if isinstance(value, _NESTED)]
        if not level:
            return
    raise InvalidInputError(f"metadata must not be nested more than {DEEPEST_METADATA} levels deep")


def _values(nested: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    if not isinstance(nested, dict):
        return nested
    for key in nested:
        if not isinstance(key, str):
            raise InvalidInputError("metadata must have texts as keys")
    return nested.values()


def _tags(value: Any, *, strict: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple) else [value]
    tags = [one for one in values if isinstance(one, str) and one]
    if strict and (values is not value or len(tags) < len(values)):
        raise InvalidInputError("metadata.tags must be a list of texts")
    return tuple(dict.fromkeys(tags))


def _text(metadata: Mapping[str, Any], key: str, *, strict: bool) -> str:
    value = metadata.get(key)
    if isinstance(value, str):
        return value
    if strict and value is not None:
        raise InvalidInputError(f"metadata.{key} must be text")
    return ""


def _timestamp(value: Any, *, strict: bool) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        if strict:
            raise InvalidInputError("metadata.timestamp must be ISO 8601, such as 2026-05-08T12:00:00+00:00") from None
        return None
