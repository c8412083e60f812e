"""Entries for the filter index: a digest of each tag, source, kind, conversation, author and metadata value of a memory.

A store that keeps these entries answers every part of a filter but the dates, and nothing that a caller sends becomes a part of
a statement.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from zapomni_db.filters import MOST_LISTED, Filter, Scalar
from zapomni_db.values import digest

_SCALAR = (str, int, float, type(None))
_SHORT = 200  # characters
_MOST_NESTED = 1000
"""Values in one object that can be asked for, the first ones."""


def entries_of(
    workspace: str,
    *,
    kind: str,
    source: str,
    author: str,
    conversation: str,
    tags: Iterable[str],
    metadata: Mapping[str, Any],
) -> set[bytes]:
    """All entries of one memory."""
    named = (("kind", kind), ("source", source), ("author", author), ("conversation", conversation))
    entries = {_entry(workspace, name, value) for name, value in named if value}
    entries.update([_entry(workspace, "tag", tag) for tag in tags])
    entries.update(_of_metadata(workspace, metadata))
    return entries


def groups_of(workspace: str, wanted: Filter) -> Iterator[tuple[bytes, ...]]:
    """The groups of entries that a filter asks for: a memory must have one of each group."""
    named = {
        "kind": wanted.kinds,
        "source": wanted.sources,
        "author": wanted.authors,
        "conversation": wanted.conversations,
    }
    yield from ((_entry(workspace, "tag", tag),) for tag in wanted.tags)
    yield from (tuple(_entry(workspace, name, value) for value in values) for name, values in named.items() if values)
    for path, values in wanted.metadata_values:
        yield tuple(_entry(workspace, "metadata", *path, value) for value in values)


def _of_metadata(workspace: str, metadata: Mapping[str, Any]) -> set[bytes]:
    found = (
        (path, one) for key, value in metadata.items() for path, one in islice(_leaves((key,), value), _MOST_NESTED)
    )
    return {_entry(workspace, "metadata", *path, one) for path, one in found}


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """The values in an object by their paths of keys, or the value itself. Objects in lists are data, too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        for one in _scalars(value):
            yield path, one


def _entry(*parts: Scalar) -> bytes:
    """The digest, cached unless it is of a long text: what memories have in common is asked for again and again."""
    for part in parts:
        if isinstance(part, str) and len(part) > _SHORT:
            return _digest(*parts)
    return _remembered(*parts)


def _digest(*parts: Scalar) -> bytes:
    """Equal values give equal digests: 1 is 1.0, but not true and not "1"."""
    return digest(json.dumps([_whole(part) for part in parts]).encode())


_remembered = lru_cache(maxsize=4096, typed=True)(_digest)


def _whole(value: Scalar) -> Scalar:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _scalars(value: Any) -> list[Scalar]:
    """The values by which a value of metadata is found: itself, or each element of a list."""
    if isinstance(value, _SCALAR):
        return [value]
    listed = value if isinstance(value, list | tuple) and len(value) <= MOST_LISTED else []
    return [one for one in listed if isinstance(one, _SCALAR)]
