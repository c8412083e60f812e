"""The schema of a graph: its version, indexes and unique constraints, made by numbered migrations under a lock."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

from zapomni_db.errors import DatabaseError, StoreTooNewError, StoreUnavailableError
from zapomni_db.falkordb.client import ConflictError, FalkorDBClient

VERSION = 1
"""Of the schema; a graph of a newer one is refused."""

READY_SECONDS = 120.0
"""The time to wait for indexes that are being built, or for another process that migrates."""
LEASE_SECONDS = 60
_PAUSE = 0.05

INDEXES: Mapping[str, tuple[str, ...]] = {
    "Workspace": ("id",),
    "Memory": ("ws", "uid", "key", "state", "facets", "talk", "successor", "second", "seq"),
    "Chunk": ("ws", "uid", "live", "terms", "facets", "second", "pending"),
    "Event": ("memory",),
    "Job": ("ws", "uid", "ready", "taken", "done_at"),
    "Entity": ("ws", "uid", "words"),
    "Evidence": ("memory", "relation"),
    "Session": ("ws", "uid"),
}
"""Indexed properties by label. Never 0, false or empty: after a restart FalkorDB does not find those."""
RELATIONSHIP_INDEXES: Mapping[str, tuple[str, ...]] = {"REL": ("uid", "block", "over")}
UNIQUE: Mapping[str, tuple[str, ...]] = {
    "Workspace": ("id",),
    "Memory": ("uid", "key"),
    "Chunk": ("uid",),
    "Job": ("uid", "taken"),
    "Entity": ("uid",),
    "Session": ("uid",),
}

_STATE = "MATCH (z:Zapomni {id: 'schema'}) RETURN z.version"
_LOCK = """
MERGE (z:Zapomni {id: 'schema'}) ON CREATE SET z.version = 0, z.locked_until = 0
WITH z WHERE z.locked_until < timestamp() SET z.locked_until = timestamp() + $lease, z.owner = $owner RETURN z.version
"""
_DONE = "MATCH (z:Zapomni {id: 'schema', owner: $owner}) SET z.version = $version, z.locked_until = 0"


async def prepare(client: FalkorDBClient) -> None:
    """Bring the graph to this version, and wait until its indexes work."""
    end = time.monotonic() + READY_SECONDS
    while (version := await _version(client)) != VERSION:
        if version > VERSION:
            raise StoreTooNewError(
                f"The store {client.location} was made by a newer Zapomni (schema {version}; this one knows {VERSION})."
                " Upgrade Zapomni."
            )
        if not await _migrate(client):
            await _wait(client, end)
    while not await _is_ready(client):
        await _wait(client, end)


async def _version(client: FalkorDBClient) -> int:
    found = await client.run_unprepared(_STATE)
    return int(found[0][0]) if found else 0


async def _migrate(client: FalkorDBClient) -> bool:
    """Run the migrations that are missing; False while another process does."""
    owner = str(uuid4())
    await _create_index(client, "(n:Zapomni)", "id")  # MERGE makes a node twice while its label is unknown
    await _make_unique(client, "Zapomni", "id")
    try:
        locked = await client.run_unprepared(_LOCK, {"lease": 1000 * LEASE_SECONDS, "owner": owner})
    except ConflictError:
        return False
    if not locked:
        return False
    for number in range(int(locked[0][0]), VERSION):
        await MIGRATIONS[number](client)
    await client.run_unprepared(_DONE, {"owner": owner, "version": VERSION})
    await _compact(client)
    return True


async def _create_indexes(client: FalkorDBClient) -> None:
    """Migration 1. It may be begun again where it was interrupted."""
    patterns = [(f"(n:{label})", names) for label, names in INDEXES.items()]
    patterns += [(f"()-[n:{label}]-()", names) for label, names in RELATIONSHIP_INDEXES.items()]
    for pattern, names in patterns:
        for name in names:
            await _create_index(client, pattern, name)
    for label, names in UNIQUE.items():
        for name in names:
            await _make_unique(client, label, name)


async def _create_index(client: FalkorDBClient, pattern: str, name: str) -> None:
    await _unless_there(client.run_unprepared(f"CREATE INDEX FOR {pattern} ON (n.{name})"))


async def _make_unique(client: FalkorDBClient, label: str, name: str) -> None:
    words = ("GRAPH.CONSTRAINT", "CREATE", client.graph_name, "UNIQUE", "NODE", label, "PROPERTIES", "1", name)
    await _unless_there(client.command(*words))


async def _unless_there(making: Awaitable[Any]) -> None:
    try:
        await making
    except DatabaseError as error:
        if "already" not in str(error.__cause__):
            raise


MIGRATIONS: tuple[Callable[[FalkorDBClient], Awaitable[None]], ...] = (_create_indexes,)


async def _compact(client: FalkorDBClient) -> None:
    """Write the append-only file anew, so that a restart does not make the indexes again; without effect where it cannot."""
    try:
        await client.command("BGREWRITEAOF")
    except DatabaseError:
        return


async def _is_ready(client: FalkorDBClient) -> bool:
    """Whether every index and constraint is in force."""
    indexes = await client.run_unprepared("CALL db.indexes() YIELD status RETURN status")
    constraints = await client.run_unprepared("CALL db.constraints() YIELD status RETURN status")
    if ["FAILED"] in constraints:
        raise DatabaseError(f"A unique constraint of the store {client.location} could not be made.")
    return all(status == "OPERATIONAL" for (status,) in [*indexes, *constraints])


async def _wait(client: FalkorDBClient, end: float) -> None:
    if time.monotonic() > end:
        raise StoreUnavailableError(f"FalkorDB is still building the indexes of {client.location}. Try again later.")
    await asyncio.sleep(_PAUSE)
