"""Chunks as they are named and as they are returned."""

from collections.abc import Sequence
from typing import Any

from zapomni_db import values
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.transaction import workspace_id
from zapomni_db.records import ChunkFound

_SALT = 1 << 32

_OF_CHUNK = ("text", "heading", "start", "end")
_OF_MEMORY = ("kind", "source", "author", "conversation", "role", "tags", "timestamp", "created_at")
FOUND = "m.id AS memory_id, " + ", ".join(
    [*(f"c.{name} AS {name}" for name in _OF_CHUNK), *(f"m.{name} AS {name}" for name in _OF_MEMORY)]
)
"""The columns that `found` reads of a chunk c and its memory m."""
_FIND = f"""
UNWIND $uids AS uid MATCH (c:Chunk {{uid: uid}}) WITH c, uid MATCH (m:Memory {{uid: c.memory}}) RETURN uid, {FOUND}
"""


def chunk_uid(ws: str, number: int) -> str:
    """The name of a chunk in the store."""
    return f"{ws}/{number}"


def public_number(ws: str, number: int) -> int:
    """The number of a chunk as callers see it: that of a chunk of another workspace is never the same."""
    return number * _SALT + _salt(ws)


def uid_of(ws: str, public: int) -> str:
    """The chunk of a number that callers see; empty where it is a chunk of another workspace."""
    number, salt = divmod(public, _SALT)
    return chunk_uid(ws, number) if salt == _salt(ws) else ""


def _salt(ws: str) -> int:
    return int.from_bytes(values.digest(ws.encode(), size=4), "little")


async def find(client: FalkorDBClient, name: str, uids: Sequence[str]) -> list[ChunkFound]:
    """Those chunks of a workspace that are there, in this order."""
    known = [uid for uid in uids if uid.startswith(f"{workspace_id(name)}/")]
    if not known:
        return []
    chunks = {uid: found(columns) for uid, *columns in await client.read(_FIND, {"uids": known})}
    return [chunks[uid] for uid in known if uid in chunks]


def found(columns: Sequence[Any]) -> ChunkFound:
    """A chunk as `FOUND` reads it."""
    fields = dict(zip(("memory_id", *_OF_CHUNK, *_OF_MEMORY), columns, strict=True))
    fields["tags"] = tuple(values.from_json(fields["tags"]))
    fields["timestamp"] = values.from_micros_or_none(fields["timestamp"])
    fields["created_at"] = values.from_micros(fields["created_at"])
    return ChunkFound(**fields)
