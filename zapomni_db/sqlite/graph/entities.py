"""Entities as they are given back."""

from collections.abc import Sequence

import apsw

from zapomni_db.names import key_of
from zapomni_db.records import Entity
from zapomni_db.sqlite.connections import rows
from zapomni_db.sqlite.graph.identifiers import entity_uid, uid_of
from zapomni_db.sqlite.values import from_json, is_text

COLUMNS = "{0}.uid, {0}.name, {0}.type, {0}.mentions, {0}.memories"

_NAMED = f"SELECT id, {COLUMNS.format('entity')} FROM entity WHERE uid = ? AND workspace = ? AND memories > 0"  # noqa: S608 - ours
_MENTIONED = f"""
SELECT spans, {COLUMNS.format("entity")}
FROM memory CROSS JOIN mention ON mention.memory = memory.id CROSS JOIN spelling ON spelling.id = mention.spelling
    CROSS JOIN entity ON entity.id = spelling.entity
WHERE memory.uid = ? AND memory.workspace = ? AND deleted_at IS NULL AND replaced_by IS NULL
"""  # noqa: S608 - ours


def entity(uid: bytes, name: str, kind: str, mentions: int, memories: int) -> Entity:
    """An entity from its columns."""
    return Entity(uid.hex(), name, kind, mentions, memories)


def by_name(connection: apsw.Connection, workspace: str, names: Sequence[str]) -> dict[int, Entity]:
    """The live entities of these names or ids, by number."""
    if not is_text(workspace):
        return {}
    uids = [uid for name in names for uid in _uids(workspace, name)]
    return {row[0]: entity(*row[1:]) for uid in uids for row in rows(connection, _NAMED, uid, workspace)}


def mentioned(connection: apsw.Connection, workspace: str, memory_id: str) -> list[Entity]:
    """What a live memory speaks of, in the order of its text; last what it does not name in so many words."""
    if not (is_text(workspace) and is_text(memory_id)):
        return []
    first: dict[Entity, float] = {}
    for spans, *columns in rows(connection, _MENTIONED, memory_id, workspace):
        one = entity(*columns)
        start = min((start for start, _ in from_json(spans)), default=float("inf"))
        first[one] = min(start, first.get(one, start))
    return sorted(first, key=lambda one: (first[one], one.name))


def _uids(workspace: str, name: str) -> list[bytes]:
    if not is_text(name):
        return []
    uid = uid_of(name)
    return [entity_uid(workspace, key_of(name))] + ([uid] if uid else [])
