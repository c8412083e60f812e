"""Reads whole memories, many in one statement: the columns that messages and documents have in common."""

from zapomni_db.sqlite.bodies import part_number

# id, metadata as JSON, creation in microseconds, text in UTF-8
COLUMNS = f"""m.uid, m.metadata, m.created_at, (
    SELECT CAST(group_concat(bytes, '') AS BLOB)
    FROM (SELECT bytes FROM body WHERE id BETWEEN m.id * {part_number(1)} AND (m.id + 1) * {part_number(1)} - 1 ORDER BY id)
)"""  # noqa: S608 - a number of ours
