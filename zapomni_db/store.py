"""The store protocols, one per concern. Every store passes the contract suites of its protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import (
    Added,
    Candidates,
    Change,
    ChunkFound,
    Direction,
    DocumentRecord,
    EmbedderIdentity,
    Entity,
    Event,
    Extraction,
    FactsStated,
    GraphCounts,
    Job,
    JobCounts,
    JobState,
    Memory,
    MessageRecord,
    NewFact,
    NewJob,
    NewMemory,
    Order,
    Origin,
    Page,
    Question,
    Relation,
    SessionRecord,
    State,
    StoreStats,
    Surroundings,
    TermCounts,
    VectorWeight,
)

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector


class MemoryStore(Protocol):
    """Stores memories of many workspaces. Every method is durable or has failed when it returns.

    Raises DatabaseError, never a driver's own exception. A store connects on first use; `close` is idempotent.

    `jobs`, `graph`, `sessions` and `vectors` are optional parts: None where a store has none, and the engine says so.
    """

    @property
    def jobs(self) -> JobStore | None: ...
    @property
    def graph(self) -> GraphStore | None: ...
    @property
    def sessions(self) -> SessionStore | None: ...
    @property
    def vectors(self) -> VectorStore | None: ...

    async def add(self, workspace: str, memories: Sequence[NewMemory]) -> list[Added]:
        """Add memories with their chunks, vectors, terms and jobs, all or none, in one transaction.

        If a live memory has the same key, that memory is returned; a deleted one is restored; the key of a replaced one is
        free. The first memory with an embedder settles that of its workspace; another identity raises EmbedderMismatchError, which names
        both. `replaces` names a live memory, or one that this very memory replaced before; any other raises
        MemoryNotFoundError. Text that cannot be stored, such as half a surrogate pair, raises InvalidInputError.

        A memory with an `origin` is written with its id, moments, events and extractions; its jobs, `replaces`, `extraction`
        and `by` are not used. If the workspace knows the id, or if a memory of the same key is there and the new one was not
        replaced, then that memory is returned as "existing" and nothing about it changes, also if one of the two is deleted.
        If it has another id, the memories that were replaced by the new one are replaced by that one instead. A message
        belongs to its session, which is made if need be.
        """
        ...

    async def origins(self, workspace: str, memory_ids: Sequence[str]) -> list[Origin]:
        """Those of these memories that are there, deleted and replaced ones too, in this order, with all that `add` takes
        to keep them elsewhere as they are here.
        """
        ...

    async def get(self, workspace: str, memory_id: str = "", *, key: str = "") -> Memory | None:
        """A memory by its id, deleted and replaced ones too, or by its key, unless it was replaced; None where there is none."""
        ...

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
        """Memories that meet a filter, a page at a time; `after` is what the page before said.

        `newest` and `oldest` go by timestamp, else by creation; `inserted` by the order in which they were added. A page
        takes as long at the end as at the start, and shows every memory once while others are added.
        """
        ...

    async def change(self, workspace: str, memory_id: str, change: Change, *, by: str = "") -> Memory | None:
        """Change a memory and record it in its history; None where the change does not apply.

        Deleting hides a memory from every search at once; a replaced one can be deleted too, else it could never be purged.
        Restoring brings a deleted one back, or a replaced one whose replacement was deleted. One whose replacement is kept
        comes back as replaced. Where the same was added again in the meantime, that one is brought back and returned.
        """
        ...

    async def history(self, workspace: str, memory_id: str) -> Sequence[Event]:
        """The events of a memory, in order; empty for an unknown memory."""
        ...

    async def purge(self, workspace: str, memory_ids: Sequence[str]) -> int:
        """Remove those of these memories that are deleted, for good; returns how many.

        Memories that they replaced are deleted from now on. No trace is left in any file.
        """
        ...

    async def term_counts(self, workspace: str, terms: Sequence[str]) -> TermCounts:
        """The number of live chunks, and of those that hold each term."""
        ...

    async def candidates(self, workspace: str, question: Question) -> Candidates:
        """The chunks that may answer a question; the core scores them.

        EmbedderMismatchError where the question's vector was made by another embedder than the workspace's.
        """
        ...

    async def chunks(self, workspace: str, chunks: Sequence[str]) -> list[ChunkFound]:
        """These candidates in this order, with their texts, as far as they still exist."""
        ...

    async def embedder(self, workspace: str) -> EmbedderIdentity | None:
        """The embedder that made the vectors of a workspace; None while it is empty."""
        ...

    async def stats(self, workspace: str) -> StoreStats:
        """The figures of a workspace."""
        ...

    async def health(self) -> list[str]:
        """The problems that keep the store from being read or written now, a sentence each. Quick."""
        ...

    async def close(self) -> None: ...


class VectorStore(Protocol):
    """Gives a workspace the vectors of another embedder while the old ones serve, and the terms of another analyser.

    `store.vectors`; a store without it refuses to add memories while the embedder is away.

    Survives being killed at any moment. No method touches another workspace.
    """

    async def pending(
        self, workspace: str, embedder: EmbedderIdentity, limit: int
    ) -> tuple[list[tuple[int, ChunkFound]], int]:
        """Some chunks that have no vector by this embedder yet, with their numbers; and how many there are in all."""
        ...

    async def fill(self, workspace: str, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, Vector]]) -> None:
        """Keep vectors by chunk number."""
        ...

    async def switch(self, workspace: str, embedder: EmbedderIdentity) -> None:
        """Serve this embedder's vectors from now on and forget the others.

        Refused while any are pending, with EmbedderMismatchError, which says how many.
        """
        ...

    async def weight(self, workspace: str, embedder: EmbedderIdentity) -> VectorWeight | None:
        """The weight that was recorded for an embedder; None if there is none, also after its last vector was forgotten."""
        ...

    async def record_weight(self, workspace: str, embedder: EmbedderIdentity, weight: VectorWeight) -> None:
        """Record the measured weight of an embedder that serves, or is about to. A store may share it among workspaces."""
        ...

    async def outdated(self, workspace: str, analyser: int, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        """Some chunks whose terms another version of the analyser made, with their numbers; and how many there are in all."""
        ...

    async def replace_terms(self, workspace: str, analyser: int, terms: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Keep the terms that this version of the analyser made, by chunk number, instead of those before."""
        ...


class FileStore(Protocol):
    """Check, backup and restore of a store that is a file; database servers have their own tools."""

    async def check(self) -> list[str]:
        """All problems of the store, a sentence each. Thorough, and slow on a large store."""
        ...

    async def backup(self, target: Path) -> None:
        """Write a consistent copy while others go on writing."""
        ...

    async def restore_backup(self, source: Path) -> Path | None:
        """Replace the store by a copy of a backup, before the store is used; the new path of the old store, if there was one.

        A damaged backup changes nothing.
        """
        ...


class JobStore(Protocol):
    """A queue that survives its processes: `store.jobs`. Durable when a method returns.

    A job is run by one worker at a time, which holds a lease on it: a worker that does not renew it in time has lost it, and
    another may claim it. So a job may be started twice, and must be safe to repeat.
    """

    async def enqueue(self, workspace: str, jobs: Sequence[NewJob]) -> list[Job]:
        """Add jobs, or find those of the same key that are not done yet."""
        ...

    async def claim(self, workspace: str, kinds: Sequence[str], worker: str, lease_seconds: float) -> Job | None:
        """The job of this workspace and one of these kinds that has waited longest, now this worker's; None if none is due.

        One whose lease has ended is due again.
        """
        ...

    async def renew(
        self, job_id: str, worker: str, lease_seconds: float, progress: float | None = None, message: str = ""
    ) -> bool:
        """Extend the lease on a job and record its progress; False if this worker has lost it."""
        ...

    async def finish(self, job_id: str, worker: str, result: Mapping[str, Any]) -> bool:
        """Mark a job as done, and clear its progress; False if this worker has lost it."""
        ...

    async def fail(self, job_id: str, worker: str, error: str, retry_at: datetime | None) -> bool:
        """Record why a job failed, and when to try again, None for never; False if this worker has lost it."""
        ...

    async def release(self, job_id: str, worker: str, not_before: datetime | None = None, error: str = "") -> bool:
        """Give a job back as if it had not been begun, because the server ends or something it needs is unavailable.

        False if this worker has lost it.
        """
        ...

    async def schedule(self, workspace: str, job_id: str, not_before: datetime, error: str = "") -> bool:
        """Postpone a waiting job, and record what it waits for; False if it is not waiting."""
        ...

    async def get(self, workspace: str, job_id: str) -> Job | None:
        """A job by its id."""
        ...

    async def list(
        self, workspace: str, *, state: JobState | None = None, kind: str | None = None, limit: int = 100
    ) -> list[Job]:
        """Jobs, the newest first."""
        ...

    async def retry(self, workspace: str, job_ids: Sequence[str] | None = None) -> int:
        """Queue failed jobs again and make waiting ones due now, those named or all; returns how many."""
        ...

    async def drop(self, workspace: str, job_ids: Sequence[str]) -> int:
        """Remove jobs that are not running; returns how many."""
        ...

    async def counts(self, workspace: str) -> JobCounts:
        """The number of jobs in each state."""
        ...

    async def next_due(self, workspace: str, kinds: Sequence[str]) -> datetime | None:
        """The moment at which the next job is due or a lease ends; None without one."""
        ...


class GraphStore(Protocol):
    """Entities and relations that memories speak of: `store.graph`.

    Equal entities are one: names are compared by NFKC, case and white space. What only deleted or replaced memories say is not
    shown, and comes back with them. When a relation was true is computed from its live evidence (`zapomni_db.timeline`);
    nothing is erased but by `purge`.
    """

    async def state_facts(
        self, workspace: str, memory_id: str, facts: Sequence[NewFact], *, by: str = ""
    ) -> FactsStated:
        """Add facts that an agent states, with a live memory as their evidence; all of them or none, in one transaction.

        A fact that this memory states already, with the same dates and `replaces`, is known and changes nothing. The evidence
        is the quote, else the sentence that holds both names, else the whole memory. MemoryNotFoundError where there is no
        such live memory; InvalidInputError begins with the number of the fact: "fact 2: ...".
        """
        ...

    async def record(self, workspace: str, memory_id: str, extraction: Extraction) -> bool:
        """Keep what an extractor read in a memory, instead of what it had read there before, in one transaction.

        What agents stated stays. False where the memory is not there any more.
        """
        ...

    async def unread(
        self, workspace: str, extractor: str, limit: int, after: str | None = None
    ) -> tuple[list[str], int]:
        """Ids of live memories that an extractor has not read, oldest first, after a memory if one is named, and how many
        there are in all.
        """
        ...

    async def reading(self, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
        """The numbers of entities and relations that an extractor found in a memory, deleted or not; None if it has not read it."""
        ...

    async def entities(self, workspace: str, names: Sequence[str]) -> list[Entity]:
        """The entities of these names or ids that are there."""
        ...

    async def entities_of(self, workspace: str, memory_id: str) -> list[Entity]:
        """The entities of a live memory, in the order of its text."""
        ...

    async def find(self, workspace: str, text: str, limit: int) -> list[tuple[Entity, float]]:
        """Entities by the words of their names, best first, with a score from 0 to 1."""
        ...

    async def related(
        self,
        workspace: str,
        names: Sequence[str],
        *,
        depth: int = 1,
        direction: Direction = "both",
        types: Sequence[str] = (),
        at: datetime | None = None,
        ended: bool = False,
        limit: int = 50,
    ) -> Surroundings:
        """The entities of these names or ids that are there, and relations around them with their distance, 1 to `depth`:
        nearest first, then those with most evidence.

        Relations that are over come only with `ended`; `at` asks for what was true then. Co-mentions are walked and returned
        only where `types` names them, in both directions. A relation comes with its newest evidence, and with quotes of at
        most 300 characters.
        """
        ...

    async def facts(self, workspace: str, after: str = "", limit: int = 100) -> list[Relation]:
        """Relations other than co-mentions, ended ones too, in the order in which they were first met; `after` is the id of
        the last one of the page before.
        """
        ...

    async def counts(self, workspace: str) -> GraphCounts:
        """The figures of a workspace."""
        ...


class SessionStore(Protocol):
    """Sessions, their messages, and documents with vectors of the caller's own: `store.sessions`.

    A message or a document is a memory: it is searched, deleted, restored and purged like one, and leaves history and queries
    while it is deleted. Durable when a method returns.
    """

    async def create_session(self, workspace: str, user_id: str, metadata: Mapping[str, Any]) -> SessionRecord:
        """Keep a new session."""
        ...

    async def put_session(self, workspace: str, session: SessionRecord) -> bool:
        """Keep a session that was kept elsewhere; False where there is one of this id, which stays as it is."""
        ...

    async def session(self, workspace: str, session_id: str) -> SessionRecord | None:
        """A session by its id."""
        ...

    async def list_sessions(self, workspace: str, after: str = "", limit: int = 100) -> list[SessionRecord]:
        """Sessions in the order in which they were kept; `after` is the id of the last one of the page before."""
        ...

    async def add_message(self, workspace: str, session_id: str, role: str, memory: NewMemory) -> Added:
        """Keep a memory as the next message of a session, in one transaction; the first message makes the session.

        Messages have one order, that of their transactions, whichever process they come from; their `created_at` never falls.
        A message's conversation is its session.
        """
        ...

    async def history(self, workspace: str, session_id: str, limit: int) -> list[MessageRecord]:
        """The last messages of a session, in their order."""
        ...

    async def add_document(self, workspace: str, memory: NewMemory, vector: Vector | None = None) -> Added:
        """Keep a memory as a document, with a vector that is the caller's own, in one transaction."""
        ...

    async def nearest_documents(
        self, workspace: str, vector: Vector, limit: int, wanted: Filter
    ) -> list[tuple[DocumentRecord, float]]:
        """The documents with an own vector of this dimension that meet the filter, nearest by cosine first, with the cosine.

        Of equal ones the newest comes first. Exact up to 2,000 documents that meet the filter; a store may approximate above.
        """
        ...

    async def documents(self, workspace: str, document_ids: Sequence[str]) -> list[DocumentRecord]:
        """Those of these documents that are there, in this order."""
        ...

    async def documents_between(
        self, workspace: str, start: datetime, end: datetime, wanted: Filter, limit: int | None = None
    ) -> list[DocumentRecord]:
        """The documents that were created within these moments, both included, and meet the filter; the newest first.

        All of them, or the first `limit`.
        """
        ...

    async def health(self) -> Mapping[str, Any]:
        """The name of the store and the versions of what it runs on; DatabaseError where it cannot be reached."""
        ...
