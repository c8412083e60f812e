"""What a store must be: one small protocol per concern. Every store passes the contract suite of its protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from zapomni_db.filters import Filter
from zapomni_db.records import Added, ChunkFound, EmbedderIdentity, Memory, NewMemory, StoreStats

if TYPE_CHECKING:
    from zapomni_db.arrays import Mask, Rows, Vector

T = TypeVar("T")


class Snapshot(Protocol):
    """The live chunks of one workspace at one moment, as arrays. Deleted and superseded memories are not in it.

    A chunk is named by its row, 0 to `chunks` - 1, a memory by its place, 0 to `memories` - 1; both grow with the order
    of insertion. Rows and places mean nothing outside the snapshot.
    """

    @property
    def version(self) -> int:
        """Another number whenever rows or places mean something else."""
        ...

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """Whose vectors these are; None while there are none."""
        ...

    @property
    def chunks(self) -> int: ...
    @property
    def memories(self) -> int: ...
    @property
    def lengths(self) -> Rows:
        """Number of terms of each chunk."""
        ...

    @property
    def places(self) -> Rows:
        """The place of the memory that each chunk belongs to; never falls from one row to the next."""
        ...

    @property
    def moments(self) -> Rows:
        """When each memory was true, by its timestamp or else its creation: microseconds since 1970, by place."""
        ...

    @property
    def neighbours(self) -> Rows:
        """By place, four places: of the memories two before, one before, one after and two after it in the same
        conversation, in the order of moment, then insertion; -1 where there is none.
        """
        ...

    def postings(self, term: str) -> tuple[Rows, Rows]:
        """The rows of the chunks that hold a term, growing, and how often each holds it."""
        ...

    def mask(self, wanted: Filter) -> Mask:
        """Which rows belong to memories that meet the filter."""
        ...

    def nearest(self, vector: Vector, count: int, mask: Mask | None = None) -> Rows:
        """At least the `count` rows that are probably nearest by cosine, in no order; only rows of the mask.

        A vector of another dimension is refused with EmbedderMismatchError.
        """
        ...

    def cosines(self, rows: Rows, vector: Vector) -> Vector:
        """The exact cosine of each of these rows with a unit vector."""
        ...

    def sample(self, count: int) -> Rows:
        """A fixed sample of at most `count` rows: the same rows as long as nothing is added or deleted."""
        ...

    def authors(self, places: Rows) -> list[str]:
        """The authors of memories, by place; an empty string where there is none."""
        ...

    def identifiers(self, places: Rows) -> list[str]:
        """The ids of memories, by place."""
        ...

    def found(self, rows: Rows) -> list[ChunkFound]:
        """Chunks with their text and what is known of their memories."""
        ...


class MemoryStore(Protocol):
    """Keeps memories of many workspaces. Every method is durable or has failed when it returns.

    Raises DatabaseError, never a driver's own exception. A store connects on first use; `close` is idempotent.
    """

    async def add(self, workspace: str, memory: NewMemory, embedder: EmbedderIdentity) -> Added:
        """Keep a memory, its chunks, vectors and terms, in one transaction.

        The same text with the same metadata and kind in the same workspace is kept once, unless `merge` is off. The first
        memory of a store settles its embedder; another identity is refused with EmbedderMismatchError. `replaces`
        supersedes a live memory, or is refused with MemoryNotFoundError. What cannot be kept as it is, such as half a
        surrogate pair, is refused with InvalidInputError.
        """
        ...

    async def get(self, workspace: str, memory_id: str) -> Memory | None:
        """A memory, deleted and superseded ones too; None where there is none, or where it was purged."""
        ...

    async def delete(self, workspace: str, memory_id: str) -> Memory | None:
        """Hide a memory from every search at once; returns it, or None where there is none that is not deleted yet.

        A superseded memory can be deleted too, else it could never be purged.
        """
        ...

    async def restore(self, workspace: str, memory_id: str) -> Memory | None:
        """Bring a deleted memory back, a superseded one as superseded; None where there is no deleted one."""
        ...

    async def purge(self, workspace: str, *, deleted_before: float, memory_ids: Sequence[str] | None = None) -> int:
        """Really remove memories that were deleted before a moment (seconds since 1970); only those named, if any are."""
        ...

    async def read(self, workspace: str, work: Callable[[Snapshot], T]) -> T:
        """Run blocking work on a snapshot, in a thread of the store's. Sees everything that any process acknowledged before."""
        ...

    async def vectors(self, embedder: EmbedderIdentity, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """Vectors that this embedder already made, by digest."""
        ...

    async def embedder(self) -> EmbedderIdentity | None:
        """Whose vectors the store serves; None while it is empty."""
        ...

    async def stats(self, workspace: str) -> StoreStats:
        """How much there is."""
        ...

    async def check(self) -> list[str]:
        """What is wrong with the store, a sentence each; thorough, and slow on a large one. Empty if nothing is."""
        ...

    async def backup(self, target: Path) -> None:
        """Write a consistent copy while others go on writing."""
        ...

    async def close(self) -> None: ...


class Reembedding(Protocol):
    """Gives a store the vectors of another embedder while the old ones serve; survives being killed at any moment."""

    async def pending(self, embedder: EmbedderIdentity, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        """Some chunks that have no vector by this embedder yet, with their numbers; and how many there are in all."""
        ...

    async def fill(self, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, bytes, Vector]]) -> None:
        """Keep vectors by chunk number, with the digest of what was embedded."""
        ...

    async def switch(self, embedder: EmbedderIdentity) -> None:
        """Serve this embedder's vectors from now on and forget the others; refused while any are pending."""
        ...
