"""Keeps what an extractor read in a memory, instead of what it had read there before."""

from collections.abc import Iterable, Sequence

import apsw

from zapomni_db.names import words_of
from zapomni_db.records import Extraction
from zapomni_db.sqlite import memories, values
from zapomni_db.sqlite.bodies import read_body
from zapomni_db.sqlite.changes import record as record_change
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.graph import extracted, upkeep
from zapomni_db.sqlite.graph.extracted import Named, Said
from zapomni_db.sqlite.graph.forgetting import drop_reading, drop_unused
from zapomni_db.sqlite.graph.identifiers import entity_uid, relation_uid
from zapomni_db.sqlite.memories import Row


def record(connection: apsw.Connection, workspace: str, memory_id: str, extraction: Extraction) -> bool:
    """Keep what was read in a memory; inside a transaction. False where there is no such memory."""
    row = memories.find(connection, workspace, memory_id)
    if row is None:
        return False
    record_row(connection, row, read_body(connection, row.id).decode(), extraction)
    return True


def record_row(connection: apsw.Connection, row: Row, text: str, extraction: Extraction) -> None:
    """Keep what was read in a memory of this text; inside a transaction."""
    extractor = extracted.check_extractor(extraction.extractor)
    entities = extracted.entities_of(text, extraction)
    relations = extracted.relations_of(text, extraction, entities)
    shown = upkeep.is_live(connection, row.id)
    before = upkeep.contribution(connection, row.id) if shown else upkeep.NOTHING
    dropped = drop_reading(connection, row.id, extractor)
    connection.execute("INSERT INTO reading VALUES(?, ?)", (row.id, extractor))
    numbers = _keep_entities(connection, row, extractor, entities)
    said = _keep_relations(connection, row, extractor, relations, numbers)
    after = upkeep.contribution(connection, row.id) if shown else upkeep.NOTHING
    upkeep.apply(connection, before, after)
    upkeep.retell(connection, said | dropped.relations)
    drop_unused(connection, dropped)
    record_change(connection, row.workspace, row.id, "read")


def _keep_entities(
    connection: apsw.Connection, row: Row, extractor: str, entities: Sequence[Named]
) -> dict[str, tuple[int, bytes]]:
    """The numbers and ids of entities by key; mentions are kept too."""
    numbers: dict[str, tuple[int, bytes]] = {}
    for entity in entities:
        if entity.key not in numbers:
            numbers[entity.key] = _entity(connection, row.workspace, entity)
    mentions = []
    for entity in entities:
        spelling = _spelling(connection, numbers[entity.key][0], entity)
        mentions.append((row.id, extractor, spelling, values.to_json("spans", entity.spans)))
    connection.executemany("INSERT INTO mention VALUES(?, ?, ?, ?)", mentions)
    return numbers


def _entity(connection: apsw.Connection, workspace: str, entity: Named) -> tuple[int, bytes]:
    uid = entity_uid(workspace, entity.key)
    number = one(connection, "SELECT id FROM entity WHERE uid = ?", uid)
    if number is None:
        connection.execute(
            "INSERT INTO entity(uid, workspace, key, name, type, mentions, memories) VALUES(?, ?, ?, ?, ?, 0, 0)",
            (uid, workspace, entity.key, entity.name, entity.type),
        )
        number = connection.last_insert_rowid()
        connection.executemany(
            "INSERT INTO entity_word VALUES(?, ?, ?)", [(workspace, word, number) for word in words_of(entity.key)]
        )
    return number, uid


def _spelling(connection: apsw.Connection, number: int, entity: Named) -> int:
    spelling: int = one(
        connection,
        "INSERT INTO spelling(entity, name, type, uses, live, places) VALUES(?, ?, ?, 1, 0, 0)"
        " ON CONFLICT DO UPDATE SET uses = uses + 1 RETURNING id",
        number,
        entity.name,
        entity.type,
    )
    return spelling


def _keep_relations(
    connection: apsw.Connection,
    row: Row,
    extractor: str,
    relations: Iterable[Said],
    numbers: dict[str, tuple[int, bytes]],
) -> set[int]:
    """The numbers of the relations; evidence is kept too."""
    known: dict[tuple[str, str, str], int] = {}
    evidence = []
    for said in relations:
        triple = said[:3]
        if triple not in known:
            known[triple] = _relation(connection, numbers[said.subject], said.type, numbers[said.object])
        evidence.append((known[triple], row.id, extractor, *said[3:]))
    connection.executemany(
        "INSERT INTO evidence(relation, memory, extractor, basis, start, end, first_byte, last_byte, exclusive,"
        " valid_from, valid_until) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        evidence,
    )
    exclusive = {number for (number, *_, alone, _since, _until) in evidence if alone}
    connection.executemany("UPDATE relation SET exclusive = 1 WHERE id = ?", [(number,) for number in exclusive])
    return set(known.values())


def _relation(connection: apsw.Connection, subject: tuple[int, bytes], kind: str, target: tuple[int, bytes]) -> int:
    uid = relation_uid(subject[1], kind, target[1])
    found = list(rows(connection, "SELECT id FROM relation WHERE uid = ?", uid))
    if found:
        return int(found[0][0])
    connection.execute(
        "INSERT INTO relation(uid, subject, type, object, exclusive, evidence, latest) VALUES(?, ?, ?, ?, 0, 0, 0)",
        (uid, subject[0], kind, target[0]),
    )
    return connection.last_insert_rowid()
