"""Memories as nodes: found, deleted, restored, replaced, and the history of each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from zapomni_db import filter_entries, values
from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.falkordb.client import FalkorDBClient, Rows
from zapomni_db.falkordb.cypher import name_of
from zapomni_db.falkordb.filters import facets_of, second_of
from zapomni_db.falkordb.transaction import Transaction
from zapomni_db.records import Change, Event, Memory, State, What


@dataclass(slots=True, kw_only=True)
class Row:
    """A memory as its node keeps it, without its text.

    `uid` and `key` are names of its id and key in its workspace; the key is there while nothing replaced the memory, and
    `own_key` always. `successor` is the uid of the memory that replaced it. `length` counts the terms of all its chunks.
    """

    uid: str
    id: str
    ws: str
    seq: int
    key: str | None
    own_key: str | None
    key_text: str
    kind: str
    source: str
    author: str
    conversation: str
    role: str
    tags: str
    metadata: str
    timestamp: int | None
    created_at: int
    first_chunk: int
    chunks: int
    length: int
    facets: list[str]
    deleted_at: int | None = None
    replaced_by: str | None = None
    successor: str | None = None

    @property
    def is_live(self) -> bool:
        """Whether it is searched."""
        return self.deleted_at is None and self.replaced_by is None

    @property
    def state(self) -> str:
        """The state as it is indexed."""
        return state_of(self.ws, "live" if self.is_live else "replaced" if self.deleted_at is None else "deleted")

    @property
    def moment(self) -> int:
        """When it was true, as far as is known."""
        return self.created_at if self.timestamp is None else self.timestamp

    @property
    def chunk_numbers(self) -> range:
        """The numbers of its chunks."""
        return range(self.first_chunk, self.first_chunk + self.chunks)

    def properties(self) -> dict[str, Any]:
        """The properties of its node but the text."""
        return {**asdict(self), "state": self.state}


_FIELDS = tuple(one.name for one in fields(Row))
_ROW = ", ".join(f"m.{name} AS {name}" for name in _FIELDS)
_CREATE = "CREATE (m:Memory) SET m = r"
_UPDATE = "MATCH (m:Memory {uid: r.uid}) SET m += r.changed"
_CHUNKS = "UNWIND range(r.first, r.last) AS number MATCH (c:Chunk {uid: r.ws + '/' + toString(number)})"
_HIDE = f"{_CHUNKS} SET c.hidden = c.terms, c.terms = NULL, c.live = NULL"
_SHOW = f"{_CHUNKS} SET c.terms = c.hidden, c.hidden = NULL, c.live = c.ws"
_REFACET = f"{_CHUNKS} SET c.facets = r.facets"
_DELETE_CHUNKS = f"{_CHUNKS} DELETE c"
_DELETE_EVENTS = "MATCH (e:Event {memory: r.uid}) DELETE e"
_DELETE = "MATCH (m:Memory {uid: r.uid}) DETACH DELETE m"
_RECORD = "CREATE (e:Event) SET e = r"
_HISTORY = "MATCH (e:Event {memory: $uid}) RETURN e.at, e.what, e.by ORDER BY e.number"


def state_of(ws: str, state: State) -> str:
    """A state of a workspace's memories as it is indexed."""
    return f"{ws} {state}"


class Memories:
    """The memories that a transaction reads and changes: each is one row, however it was found."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._rows: dict[str, Row] = {}
        self._before: dict[str, Row] = {}
        self.inserted: set[str] = set()
        """The uids of new memories."""
        tx.before_commit.append(self._write_changes)

    async def by_id(self, memory_id: str) -> Row | None:
        """A memory by its id."""
        if not values.is_text(memory_id):
            return None
        uid = memory_uid(self._tx.name, memory_id)
        if uid not in self._rows:
            self._take(await self._tx.read(f"MATCH (m:Memory {{uid: $uid}}) RETURN {_ROW}", uid=uid))
        return self._rows.get(uid)

    async def by_key(self, key: str) -> Row | None:
        """The memory of a key, which is a name, that nothing replaced."""
        known = next((row for row in self._rows.values() if row.key == key), None)
        if known is None:
            self._take(await self._tx.read(f"MATCH (m:Memory {{key: $key}}) RETURN {_ROW}", key=key))
        return next((row for row in self._rows.values() if row.key == key), None)

    async def replaced_by(self, uid: str) -> list[Row]:
        """The memories that a memory took the place of."""
        self._take(await self._tx.read(f"MATCH (m:Memory {{successor: $uid}}) RETURN {_ROW}", uid=uid))
        return [one for one in self._rows.values() if one.successor == uid]

    def _take(self, found: Rows) -> None:
        for values_ in found:
            row = Row(**dict(zip(_FIELDS, values_, strict=True)))
            if row.uid not in self._rows:
                self._rows[row.uid], self._before[row.uid] = row, replace(row)

    def was_live(self, row: Row) -> bool:
        """Whether it was searched before the transaction."""
        return self._before[row.uid].is_live

    def insert(self, row: Row, text: str) -> None:
        """Write the node of a new memory."""
        self._rows[row.uid], self._before[row.uid] = row, replace(row)
        self.inserted.add(row.uid)
        moment = {"moment": row.moment, "second": second_of(row.moment)}
        self._tx.write(_CREATE, {**row.properties(), **moment, "talk": talk_of(self._tx.name, row), "text": text})
        self._tx.workspace.kept += 1
        if row.is_live:
            self._count(row, 1)

    def purge(self, row: Row) -> None:
        """Remove a memory for good, with its chunks and its history."""
        del self._rows[row.uid], self._before[row.uid]
        self._tx.workspace.kept -= 1
        for body in (_DELETE_CHUNKS, _DELETE_EVENTS, _DELETE):
            self._tx.write(body, {"uid": row.uid, **_chunks_of(row)})

    def record(self, row: Row, what: What, by: str = "") -> None:
        """Write that something happened to a memory now into its history."""
        self.record_event(row, Event(values.from_micros(self._tx.now), what, by))

    def record_event(self, row: Row, event: Event) -> None:
        """Write an event into the history of a memory."""
        self._tx.workspace.event_seq += 1
        at, by = values.checked_micros("events", event.at), values.check_text("by", event.by)
        number = self._tx.workspace.event_seq
        self._tx.write(
            _RECORD, {"memory": row.uid, "ws": row.ws, "number": number, "at": at, "what": event.what, "by": by}
        )

    async def _write_changes(self) -> None:
        """Write what changed, at the end of the transaction."""
        from zapomni_db.falkordb.graph.timeline import settle

        for uid, row in self._rows.items():
            before = self._before[uid]
            was, now = before.properties(), row.properties()
            changed = {name: value for name, value in now.items() if value != was[name]}
            if changed:
                self._tx.write(_UPDATE, {"uid": uid, "changed": changed})
            if row.is_live != before.is_live:
                self._tx.write(_SHOW if row.is_live else _HIDE, _chunks_of(row))
                self._count(row, 1 if row.is_live else -1)
            if "facets" in changed:
                self._tx.write(_REFACET, {**_chunks_of(row), "facets": row.facets})
        await settle(self._tx, [row for uid, row in self._rows.items() if row.is_live != self._before[uid].is_live])

    def _count(self, row: Row, sign: int) -> None:
        workspace = self._tx.workspace
        workspace.memories += sign
        workspace.chunks += sign * row.chunks
        workspace.length += sign * row.length


def memories_of(tx: Transaction) -> Memories:
    """The memories of a transaction."""
    if "memories" not in tx.state:
        tx.state["memories"] = Memories(tx)
    found: Memories = tx.state["memories"]
    return found


def _chunks_of(row: Row) -> dict[str, Any]:
    return {"ws": row.ws, "first": row.first_chunk, "last": row.first_chunk + row.chunks - 1}


def talk_of(workspace: str, row: Row) -> str | None:
    """The conversation of a memory as it is indexed."""
    return name_of("talk", workspace, row.conversation) if row.conversation else None


def entries_of(workspace: str, row: Row) -> list[str]:
    """The entries by which filters find a memory."""
    return facets_of(
        filter_entries.entries_of(
            workspace,
            kind=row.kind,
            source=row.source,
            author=row.author,
            conversation=row.conversation,
            tags=values.from_json(row.tags),
            metadata=values.from_json(row.metadata),
        )
    )


async def change(tx: Transaction, memory_id: str, wanted: Change, by: str) -> str | None:
    """Apply a change to a memory; the id of the memory that it comes down to, None where it does not apply."""
    row = await memories_of(tx).by_id(memory_id)
    if row is None:
        return None
    if wanted.metadata is not None and not _set_metadata(tx, row, wanted, by):
        return None
    if wanted.deleted is True:
        return row.id if _delete(tx, row, by) else None
    if wanted.deleted is False:
        return await _restore(tx, row, by)
    return row.id


def _set_metadata(tx: Transaction, row: Row, wanted: Change, by: str) -> bool:
    """Change the metadata; False where they are no longer those that the change expects."""
    if wanted.instead_of is not None and values.from_json(row.metadata) != dict(wanted.instead_of):
        return False
    row.metadata = values.to_json("metadata", dict(wanted.metadata or {}))
    row.tags = values.to_json("tags", wanted.tags)
    row.source = values.check_text("source", wanted.source)
    row.facets = entries_of(tx.name, row)
    memories_of(tx).record(row, "changed", by)
    return True


def _delete(tx: Transaction, row: Row, by: str) -> bool:
    """Hide a memory; False if it is deleted."""
    if row.deleted_at is not None:
        return False
    row.deleted_at = tx.now
    memories_of(tx).record(row, "deleted", by)
    return True


async def _restore(tx: Transaction, row: Row, by: str) -> str | None:
    """Bring a deleted memory back, or one whose replacement was deleted."""
    if row.replaced_by is not None:
        replacement = await memories_of(tx).by_id(row.replaced_by)
        if replacement is None or replacement.deleted_at is not None:
            return await _reinstate(tx, row, by)
    return row.id if restore_row(tx, row, by) else None


async def _reinstate(tx: Transaction, row: Row, by: str) -> str:
    """Let a memory be live that has no replacement any more; the id of the one that says the same now."""
    same = await memories_of(tx).by_key(row.own_key) if row.own_key else None
    if same:  # it was added again in the meantime, and equal memories are kept once
        restore_row(tx, same, by)
        return same.id
    row.deleted_at = row.replaced_by = row.successor = None
    row.key = row.own_key
    memories_of(tx).record(row, "restored", by)
    return row.id


def restore_row(tx: Transaction, row: Row, by: str) -> bool:
    """Bring a memory back; False if it was not deleted."""
    if row.deleted_at is None:
        return False
    row.deleted_at = None
    memories_of(tx).record(row, "restored", by)
    return True


async def replace_by(tx: Transaction, memory_id: str, new: Row, by: str) -> Row | None:
    """Let a memory take the place of another, which must be live; the other one, or None if it had its place already."""
    old = await memories_of(tx).by_id(memory_id)
    if old and old.replaced_by == new.id:
        return None
    if old is None or not old.is_live:
        raise MemoryNotFoundError("The memory to replace is not in this workspace, or was deleted or replaced before.")
    old.replaced_by, old.successor, old.key = new.id, new.uid, None
    memories_of(tx).record(old, "replaced", by)
    return old


async def purge(tx: Transaction, memory_ids: Sequence[str]) -> int:
    """Remove those of these memories that are deleted; what they replaced is deleted from now on. Returns how many."""
    from zapomni_db.falkordb.graph.record import forget_memory

    memories = memories_of(tx)
    found = [await memories.by_id(memory_id) for memory_id in dict.fromkeys(memory_ids)]
    gone = [row for row in found if row and row.deleted_at is not None]
    for row in gone:
        for replaced in await memories.replaced_by(row.uid):
            _delete(tx, replaced, "")
        await forget_memory(tx, row)
        memories.purge(row)
    return len(gone)


async def get(client: FalkorDBClient, workspace: str, memory_id: str, key: str) -> Memory | None:
    """A memory by its id, or by its key, hidden or not."""
    if not values.is_text(workspace):
        return None
    if key:
        found = await read(client, workspace, "MATCH (m:Memory {key: $key})", {"key": key_name(workspace, key)})
    else:
        found = await read(client, workspace, "MATCH (m:Memory {uid: $uid})", {"uid": memory_uid(workspace, memory_id)})
    return found[0] if found else None


def memory_uid(workspace: str, memory_id: str) -> str:
    """The `uid` of a memory."""
    return name_of("memory", workspace, memory_id)


def key_name(workspace: str, key: str) -> str:
    """The name of a key in a workspace."""
    return name_of("key", workspace, key)


async def read(client: FalkorDBClient, workspace: str, match: str, parameters: Mapping[str, Any]) -> list[Memory]:
    """The whole memories `m` that a pattern matches, in its order."""
    nodes = [dict(zip(_READ, row, strict=True)) for row in await client.read(f"{match} {_WHOLE}", parameters)]
    replaced: dict[str, list[str]] = {}
    for uid, memory_id, _ in await client.read(_REPLACED, {"uids": [node["uid"] for node in nodes]}) if nodes else ():
        replaced.setdefault(uid, []).append(memory_id)
    return [_memory(workspace, node, replaced.get(node.pop("uid"), ())) for node in nodes]


async def history(client: FalkorDBClient, workspace: str, memory_id: str) -> list[Event]:
    """The events of a memory."""
    found = await client.read(_HISTORY, {"uid": memory_uid(workspace, memory_id)})
    return [Event(values.from_micros(at), what, by) for at, what, by in found]


_READ = (
    *("uid", "id", "kind", "text", "metadata", "tags", "source", "author", "conversation", "timestamp", "created_at"),
    *("deleted_at", "replaced_by", "chunks", "role", "key_text"),
)
_WHOLE = f"RETURN {', '.join(f'm.{name} AS {name}' for name in _READ)}"
_REPLACED = "UNWIND $uids AS uid MATCH (m:Memory {successor: uid}) RETURN uid, m.id, m.seq ORDER BY m.seq"


def _memory(workspace: str, node: dict[str, Any], replaces: Sequence[str]) -> Memory:
    return Memory(
        workspace=workspace,
        metadata=values.from_json(node.pop("metadata")),
        tags=tuple(values.from_json(node.pop("tags"))),
        timestamp=values.from_micros_or_none(node.pop("timestamp")),
        created_at=values.from_micros(node.pop("created_at")),
        deleted_at=values.from_micros_or_none(node.pop("deleted_at")),
        replaces=tuple(replaces),
        key=node.pop("key_text"),
        **node,
    )
