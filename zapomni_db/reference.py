"""A complete store in memory, in one file: what a store must do, at its simplest. For tests, and as an example for authors.

It keeps no jobs, no graph and no sessions, and cannot re-embed: a store without those parts says so by not having them.
"""

import copy
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import uuid4

from zapomni_db import rank
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError, MemoryNotFoundError
from zapomni_db.filters import NO_FILTER, Filter, meets
from zapomni_db.rank import RankedChunk
from zapomni_db.records import (
    Added,
    Candidates,
    Change,
    ChunkFound,
    EmbedderIdentity,
    Event,
    Memory,
    NewChunk,
    NewMemory,
    Order,
    Origin,
    Page,
    Question,
    State,
    StoreStats,
    TermCounts,
    What,
)
from zapomni_db.texts import check_encodable

_STATES: Mapping[State, Any] = {
    "live": lambda one: one.is_live,
    "deleted": lambda one: one.memory.deleted_at is not None,
    "replaced": lambda one: one.memory.deleted_at is None and one.memory.replaced_by is not None,
    "all": lambda _: True,
}


@dataclass(slots=True)
class Kept:
    """A memory with what the store keeps beside it. `number` grows with the order of insertion."""

    number: int
    memory: Memory  # what it replaces is worked out when it is read
    chunks: tuple[NewChunk, ...]
    events: list[Event] = field(default_factory=list)

    @property
    def is_live(self) -> bool:
        return self.memory.deleted_at is None and self.memory.replaced_by is None

    @property
    def moment(self) -> datetime:
        return self.memory.timestamp or self.memory.created_at


@dataclass(slots=True)
class Workspace:
    """The memories of one workspace by id, in the order of insertion, and whose vectors they have."""

    embedder: EmbedderIdentity | None = None
    added: int = 0
    memories: dict[str, Kept] = field(default_factory=dict)

    def shown(self, one: Kept) -> Memory:
        """A memory with those that it replaced."""
        replaces = [other.memory.id for other in self.memories.values() if other.memory.replaced_by == one.memory.id]
        return replace(one.memory, replaces=tuple(replaces))

    def live(self) -> list[Kept]:
        return [one for one in self.memories.values() if one.is_live]

    def of_key(self, key: str) -> Kept | None:
        """The memory of a key that nothing replaced."""
        return next(
            (one for one in self.memories.values() if key and one.memory.key == key and not one.memory.replaced_by),
            None,
        )


class ReferenceStore:
    """A MemoryStore. Stores that are given the same dictionary keep the same memories."""

    jobs = graph = sessions = vectors = None

    def __init__(self, kept: dict[str, Workspace] | None = None) -> None:
        self._workspaces = {} if kept is None else kept

    async def add(self, workspace: str, memories: Sequence[NewMemory]) -> list[Added]:
        check_encodable("workspace", workspace)
        changed = copy.deepcopy(self._at(workspace))  # all or none: what fails leaves the workspace as it was
        added = [_add(changed, workspace, new) for new in memories]
        self._workspaces[workspace] = changed
        return added

    async def origins(self, workspace: str, memory_ids: Sequence[str]) -> list[Origin]:
        found = [self._at(workspace).memories.get(memory_id) for memory_id in memory_ids]
        return [_origin(one) for one in found if one]

    async def get(self, workspace: str, memory_id: str = "", *, key: str = "") -> Memory | None:
        there = self._at(workspace)
        found = there.of_key(key) if key else there.memories.get(memory_id)
        return there.shown(found) if found else None

    async def list_memories(
        self,
        workspace: str,
        wanted: Filter = NO_FILTER,
        *,
        state: State = "live",
        order: Order = "newest",
        after: str = "",
        limit: int = 100,
    ) -> Page:
        found = [
            one for one in self._at(workspace).memories.values() if _STATES[state](one) and meets(one.memory, wanted)
        ]
        if order != "inserted":
            found.sort(key=lambda one: (one.moment, one.number), reverse=order == "newest")
        last = _position(after, order)
        page = [one for one in found if last is None or _is_after(one, order, last)][: limit + 1]
        return Page(
            [self._at(workspace).shown(one) for one in page[:limit]],
            "/".join(map(repr, _place(page[limit - 1], order))) if len(page) > limit else "",
        )

    async def change(self, workspace: str, memory_id: str, change: Change, *, by: str = "") -> Memory | None:
        there = self._at(workspace)
        one = there.memories.get(memory_id)
        if one is None:
            return None
        if change.metadata is not None:
            if change.instead_of is not None and one.memory.metadata != change.instead_of:
                return None
            metadata = copy.deepcopy(dict(change.metadata))
            _set(one, "changed", by, metadata=metadata, tags=change.tags, source=change.source)
        if change.deleted is True:
            if one.memory.deleted_at is not None:
                return None
            _set(one, "deleted", by, deleted_at=datetime.now(UTC))
        if change.deleted is False:
            restored = _restore(there, one, by)
            return there.shown(restored) if restored else None
        return there.shown(one)

    async def history(self, workspace: str, memory_id: str) -> Sequence[Event]:
        one = self._at(workspace).memories.get(memory_id)
        return list(one.events) if one else []

    async def purge(self, workspace: str, memory_ids: Sequence[str]) -> int:
        there, removed = self._at(workspace), 0
        for memory_id in memory_ids:
            one = there.memories.get(memory_id)
            if one is None or one.memory.deleted_at is None:
                continue
            del there.memories[memory_id]
            removed += 1
            for replaced in there.memories.values():
                if replaced.memory.replaced_by == memory_id and replaced.memory.deleted_at is None:
                    _set(replaced, "deleted", "", deleted_at=datetime.now(UTC))
        return removed

    async def term_counts(self, workspace: str, terms: Sequence[str]) -> TermCounts:
        return rank.term_counts(self._chunks(workspace, NO_FILTER), terms)

    async def candidates(self, workspace: str, question: Question) -> Candidates:
        embedder = self._at(workspace).embedder
        if question.vector is not None and embedder not in (None, question.embedder):
            raise EmbedderMismatchError("the store's vectors were made by another embedder than the question's")
        return rank.candidates(self._chunks(workspace, question.wanted), question)

    async def chunks(self, workspace: str, chunks: Sequence[str]) -> list[ChunkFound]:
        there, found = self._at(workspace), []
        for name in chunks:
            memory_id, _, number = name.rpartition("/")
            one = there.memories.get(memory_id)
            if one:
                found.append(_found(one.memory, one.chunks[int(number)]))
        return found

    async def embedder(self, workspace: str) -> EmbedderIdentity | None:
        return self._at(workspace).embedder

    async def stats(self, workspace: str) -> StoreStats:
        there = self._at(workspace)
        states = {state: sum(map(holds, there.memories.values())) for state, holds in _STATES.items()}
        return StoreStats(
            memories=states["live"],
            chunks=sum(len(one.chunks) for one in there.live()),
            deleted=states["deleted"],
            superseded=states["replaced"],
            size_bytes=0,
            embedder=there.embedder,
            store="reference",
            location="memory",
            workspaces=tuple(sorted(name for name, one in self._workspaces.items() if one.memories)),
        )

    async def health(self) -> list[str]:
        return []

    async def close(self) -> None:
        """Nothing is open."""

    def _at(self, workspace: str) -> Workspace:
        return self._workspaces.get(workspace) or Workspace()

    def _chunks(self, workspace: str, wanted: Filter) -> list[RankedChunk]:
        return [
            RankedChunk(
                chunk=f"{one.memory.id}/{number}",
                memory_id=one.memory.id,
                terms=Counter(chunk.terms),
                vector=chunk.vector,
                moment=one.moment,
                author=one.memory.author,
                conversation=one.memory.conversation,
                meets=meets(one.memory, wanted),
            )
            for one in self._at(workspace).live()
            for number, chunk in enumerate(one.chunks)
        ]


def _add(there: Workspace, workspace: str, new: NewMemory) -> Added:
    _check(new)
    if None not in (there.embedder, new.embedder) and there.embedder != new.embedder:
        raise EmbedderMismatchError(f"the vectors were made by {there.embedder}, not by {new.embedder}")
    if new.origin:
        return _bring(there, workspace, new, new.origin)
    one, outcome = there.of_key(new.key), "existing"
    if one is None:
        now = datetime.now(UTC)
        origin = Origin(id=str(uuid4()), created_at=now, events=(Event(now, "added", new.by),))
        one, outcome = _insert(there, workspace, new, origin), "stored"
    elif one.memory.deleted_at is not None:
        _set(one, "restored", new.by, deleted_at=None)
        outcome = "restored"
    if new.replaces not in (None, one.memory.id):
        _replace(there, str(new.replaces), one, new.by)
    there.embedder = new.embedder or there.embedder
    return Added(one.memory.id, len(one.chunks), outcome)  # type: ignore[arg-type]  # one of the three


def _bring(there: Workspace, workspace: str, new: NewMemory, origin: Origin) -> Added:
    """Add a memory as it was elsewhere, or find it or its equal."""
    one = there.memories.get(origin.id) or (None if origin.replaced_by else there.of_key(new.key))
    outcome: Literal["stored", "existing"] = "existing"
    if one is None:
        one, outcome = _insert(there, workspace, new, origin), "stored"
    for other in there.memories.values():
        if other.memory.replaced_by == origin.id:
            other.memory = replace(other.memory, replaced_by=one.memory.id)
    there.embedder = new.embedder
    return Added(one.memory.id, len(one.chunks), outcome)


def _origin(one: Kept) -> Origin:
    memory = one.memory
    return Origin(
        id=memory.id,
        created_at=memory.created_at,
        deleted_at=memory.deleted_at,
        replaced_by=memory.replaced_by,
        events=tuple(one.events),
    )


def _insert(there: Workspace, workspace: str, new: NewMemory, origin: Origin) -> Kept:
    there.added += 1
    memory = Memory(
        id=origin.id,
        workspace=workspace,
        kind=new.kind,
        text=new.text,
        metadata=copy.deepcopy(dict(new.metadata)),
        tags=new.tags,
        source=new.source,
        author=new.author,
        conversation=new.conversation,
        timestamp=new.timestamp,
        created_at=origin.created_at,
        deleted_at=origin.deleted_at,
        replaces=(),
        replaced_by=origin.replaced_by,
        chunks=len(new.chunks),
        key=new.key,
    )
    one = Kept(there.added, memory, new.chunks, list(origin.events))
    there.memories[memory.id] = one
    return one


def _replace(there: Workspace, memory_id: str, new: Kept, by: str) -> None:
    old = there.memories.get(memory_id)
    if old and old.memory.replaced_by == new.memory.id:
        return
    if old is None or not old.is_live:
        raise MemoryNotFoundError("the memory to replace is not in this workspace, or was deleted or replaced before")
    _set(old, "replaced", by, replaced_by=new.memory.id)


def _restore(there: Workspace, one: Kept, by: str) -> Kept | None:
    """Bring a deleted memory back, or one whose replacement was deleted; or the one that says the same now."""
    replacement = there.memories.get(one.memory.replaced_by or "")
    if one.memory.replaced_by and (replacement is None or replacement.memory.deleted_at is not None):
        same = there.of_key(one.memory.key)
        if same:
            if same.memory.deleted_at is not None:
                _set(same, "restored", by, deleted_at=None)
            return same
        _set(one, "restored", by, deleted_at=None, replaced_by=None)
        return one
    if one.memory.deleted_at is None:
        return None
    _set(one, "restored", by, deleted_at=None)
    return one


def _set(one: Kept, what: What, by: str, **changes: Any) -> None:
    one.memory = replace(one.memory, **changes)
    one.events.append(Event(datetime.now(UTC), what, by))


def _found(memory: Memory, chunk: NewChunk) -> ChunkFound:
    return ChunkFound(
        memory_id=memory.id,
        kind=memory.kind,
        text=memory.text[chunk.start : chunk.end],
        heading=chunk.heading,
        start=chunk.start,
        end=chunk.end,
        tags=memory.tags,
        source=memory.source,
        author=memory.author,
        conversation=memory.conversation,
        timestamp=memory.timestamp,
        created_at=memory.created_at,
        role=memory.role,
    )


def _check(new: NewMemory) -> None:
    """InvalidInputError, which names the field, for what cannot be kept."""
    for name in ("text", "kind", "source", "author", "conversation"):
        check_encodable(name, getattr(new, name))
    for tag in new.tags:
        check_encodable("tags", tag)
    if origin := new.origin:
        for text in (origin.id, origin.replaced_by or "", *[event.by for event in origin.events]):
            check_encodable("origin", text)
    try:
        check_encodable("metadata", json.dumps(dict(new.metadata), allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError("metadata must be plain JSON: text, numbers, lists and objects") from None
    for chunk in new.chunks:
        if not 0 <= chunk.start <= chunk.end <= len(new.text):
            raise InvalidInputError("chunks must lie within their text")
        if chunk.vector is not None and new.embedder and len(chunk.vector) != new.embedder.dimension:
            raise InvalidInputError(f"a chunk's vector must have {new.embedder.dimension} dimensions")


def _place(one: Kept, order: Order) -> tuple[float, ...]:
    return (one.number,) if order == "inserted" else (one.moment.timestamp(), one.number)


def _is_after(one: Kept, order: Order, last: tuple[float, ...]) -> bool:
    return _place(one, order) < last if order == "newest" else _place(one, order) > last


def _position(after: str, order: Order) -> tuple[float, ...] | None:
    """The position at which the previous page ended."""
    if not after:
        return None
    try:
        position = tuple(map(float, after.split("/")))
    except ValueError:
        position = ()
    if len(position) != (1 if order == "inserted" else 2):
        raise InvalidInputError("after must be what the page before said")
    return position
