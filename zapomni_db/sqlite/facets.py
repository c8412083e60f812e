"""What filters can ask for: a digest of each tag, source, kind, conversation, author and metadata value of a memory.

One narrow table answers every part of a filter but the dates, and nothing that a caller sends becomes part of a statement.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import apsw

from zapomni_db.arrays import Rows
from zapomni_db.filters import MOST_LISTED, Filter, Scalar
from zapomni_db.sqlite.connections import one
from zapomni_db.sqlite.values import digest, integers

_SCALAR = (str, int, float, type(None))
_SHORT = 200  # characters
_MOST_NESTED = 1000
"""Values in one object that can be asked for, the first ones."""

HOLDING = "EXISTS (SELECT 1 FROM carray(?) asked CROSS JOIN facet ON digest = asked.value AND facet.memory = m.id)"
"""A condition on the memory m: it has one of the facets of a group."""


def facets_of(
    workspace: str,
    *,
    kind: str,
    source: str,
    author: str,
    conversation: str,
    tags: Iterable[str],
    metadata: Mapping[str, Any],
) -> set[bytes]:
    """All that filters can ask for of one memory."""
    named = (("kind", kind), ("source", source), ("author", author), ("conversation", conversation))
    facets = {_facet(workspace, name, value) for name, value in named if value}
    facets.update([_facet(workspace, "tag", tag) for tag in tags])
    facets.update(_of_metadata(workspace, metadata))
    return facets


def asked(workspace: str, wanted: Filter) -> Iterator[tuple[bytes, ...]]:
    """What a memory must have: one of each group."""
    named = {
        "kind": wanted.kinds,
        "source": wanted.sources,
        "author": wanted.authors,
        "conversation": wanted.conversations,
    }
    yield from ((_facet(workspace, "tag", tag),) for tag in wanted.tags)
    yield from (tuple(_facet(workspace, name, value) for value in values) for name, values in named.items() if values)
    for path, values in wanted.metadata_values:
        yield tuple(_facet(workspace, "metadata", *path, value) for value in values)


def keep_facets(connection: apsw.Connection, facets: Iterable[tuple[bytes, int]]) -> None:
    """Let memories be filtered by these, each before its memory."""
    connection.executemany("INSERT INTO facet VALUES(?, ?)", facets)


def drop_facets(connection: apsw.Connection, memory: int, facets: Iterable[bytes]) -> None:
    """Forget what a memory could be filtered by."""
    connection.executemany("DELETE FROM facet WHERE digest = ? AND memory = ?", [(facet, memory) for facet in facets])


def has_facets(connection: apsw.Connection, memory: int, facets: set[bytes]) -> bool:
    """Whether a memory can be filtered by all of these."""
    statement = "SELECT count(*) FROM carray(?) CROSS JOIN facet ON digest = carray.value AND memory = ?"
    return not facets or one(connection, statement, apsw.carray(tuple(facets)), memory) == len(facets)


def holding(connection: apsw.Connection, group: Sequence[bytes]) -> Rows:
    """The memories that have one of these, dead ones too, in no order."""
    if not group:
        return integers(None)
    return integers(
        one(
            connection,
            "SELECT group_concat(memory) FROM carray(?) CROSS JOIN facet ON digest = carray.value",
            apsw.carray(tuple(group)),
        )
    )


def _of_metadata(workspace: str, metadata: Mapping[str, Any]) -> set[bytes]:
    found = (
        (path, one) for key, value in metadata.items() for path, one in islice(_leaves((key,), value), _MOST_NESTED)
    )
    return {_facet(workspace, "metadata", *path, one) for path, one in found}


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """The values in an object by their paths of keys, or the value itself. Objects in lists are data, too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        for one in _scalars(value):
            yield path, one


def _facet(*parts: Scalar) -> bytes:
    """What memories have in common is asked for again and again; what is long hardly is, and would fill the room."""
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
    """What a value of metadata can be asked for by: itself, or each that it lists."""
    if isinstance(value, _SCALAR):
        return [value]
    listed = value if isinstance(value, list | tuple) and len(value) <= MOST_LISTED else []
    return [one for one in listed if isinstance(one, _SCALAR)]
