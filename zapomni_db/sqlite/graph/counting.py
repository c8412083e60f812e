"""How much graph a workspace has, and which memories an extractor has not read."""

import time

import apsw

from zapomni_db.records import GraphCounts
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.values import check_text, is_text

_LIVE = "workspace = :workspace AND deleted_at IS NULL AND replaced_by IS NULL"
_ENTITIES = "SELECT count(*), coalesce(sum(mentions), 0) FROM entity WHERE workspace = ? AND memories > 0"
_RELATIONS = """
SELECT count(*), coalesce(sum(CASE WHEN superseded_by IS NULL THEN 0 ELSE valid_until <= :now END), 0)
FROM entity CROSS JOIN relation ON subject = entity.id WHERE workspace = :workspace AND memories > 0 AND evidence > 0
"""
_READ = f"""
SELECT extractor, count(*) FROM reading JOIN memory ON memory.id = reading.memory WHERE {_LIVE} GROUP BY extractor
"""  # noqa: S608 - ours
_MEMORIES = f"SELECT count(*) FROM memory WHERE {_LIVE}"  # noqa: S608 - ours
_UNREAD = f"""
SELECT uid FROM memory WHERE {_LIVE} AND id > :after
    AND NOT EXISTS (SELECT 1 FROM reading WHERE reading.memory = memory.id AND extractor = :extractor)
ORDER BY id LIMIT :limit
"""  # noqa: S608 - ours
_READ_BY = f"""
SELECT count(*) FROM reading JOIN memory ON memory.id = reading.memory WHERE extractor = :extractor AND {_LIVE}
"""  # noqa: S608 - ours

_READING = """
SELECT
    (SELECT count(DISTINCT entity) FROM mention JOIN spelling ON spelling.id = mention.spelling
        WHERE mention.memory = reading.memory AND mention.extractor = reading.extractor),
    (SELECT count(DISTINCT relation) FROM evidence
        WHERE evidence.memory = reading.memory AND evidence.extractor = reading.extractor)
FROM memory JOIN reading ON reading.memory = memory.id WHERE uid = ? AND workspace = ? AND extractor = ?
"""


def reading(connection: apsw.Connection, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
    """How many entities and relations an extractor read in a memory."""
    if not all(map(is_text, (workspace, memory_id, extractor))):
        return None
    found = list(rows(connection, _READING, memory_id, workspace, extractor))
    return (found[0][0], found[0][1]) if found else None


def counts(connection: apsw.Connection, workspace: str) -> GraphCounts:
    """The figures of a workspace."""
    bound = {"workspace": check_text("workspace", workspace)}
    entities, mentions = one(connection, _ENTITIES, workspace)
    relations, superseded = connection.execute(_RELATIONS, {**bound, "now": time.time_ns() // 1000}).get
    return GraphCounts(
        entities=entities,
        relations=relations - superseded,
        superseded=superseded,
        mentions=mentions,
        memories=connection.execute(_MEMORIES, bound).get,
        read=dict(connection.execute(_READ, bound)),
    )


def unread(
    connection: apsw.Connection, workspace: str, extractor: str, limit: int, after: str | None
) -> tuple[list[str], int]:
    """Ids of live memories that an extractor has not read, from after one on, and how many there are in all."""
    bound: dict[str, str | int] = {
        "workspace": check_text("workspace", workspace),
        "extractor": check_text("extractor", extractor),
        "after": _number(connection, workspace, after),
        "limit": limit,
    }
    found = [uid for (uid,) in connection.execute(_UNREAD, bound)]
    return found, connection.execute(_MEMORIES, bound).get - connection.execute(_READ_BY, bound).get


def _number(connection: apsw.Connection, workspace: str, memory_id: str | None) -> int:
    if memory_id is None or not is_text(memory_id):
        return 0
    found = list(rows(connection, "SELECT id FROM memory WHERE uid = ? AND workspace = ?", memory_id, workspace))
    return int(found[0][0]) if found else 0
