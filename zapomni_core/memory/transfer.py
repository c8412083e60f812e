"""Exports a workspace as JSON Lines, and imports such a file into a workspace of any store.

Vectors that an embedder made are not in the file: the embedder of the target workspace makes them anew. Both work on a few
memories at a time, however many there are.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from zapomni_core.errors import ConfigurationError
from zapomni_core.memory.add import prepare
from zapomni_core.memory.content import KnownMetadata, indexed_text
from zapomni_core.memory.export_format import (
    Counts,
    EndLine,
    Header,
    Line,
    MemoryLine,
    SessionLine,
    header_of,
    memory_line,
    parse_header,
    parse_line,
    session_line,
)
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import Added, JobCounts, Memory, NewMemory, Origin, SessionRecord

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_db.store import MemoryStore

PAGE = 32
"""Memories that are read at a time."""
BATCH = 64
"""Memories that are embedded and stored at a time; fewer if they are long."""
BATCH_CHARACTERS = 1_000_000
LONGEST_LINE = 1 << 28
"""In bytes: more than a memory takes whose text and metadata are the longest that are accepted."""

OnProgress = Callable[[int, int], Awaitable[None]]
"""Is called with how many memories are done, and how many there are."""


# Export.


@dataclass(slots=True)
class Exported:
    """The result of an export: the header, and the numbers of memories and sessions."""

    header: Header
    memories: int = 0
    sessions: int = 0


async def export_workspace(
    engine: "MemoryEngine", write: Callable[[bytes], object], on_progress: OnProgress | None = None
) -> Exported:
    """Write the lines of a workspace. Memories that are added meanwhile may be left out."""
    await engine.open()
    store, workspace = engine.memories, engine.workspace
    exported = Exported(header_of(workspace, await store.embedder(workspace), await _counts(store, workspace)))
    write(exported.header.encoded())
    async for session in _sessions(store, workspace):
        write(session_line(session).encoded())
        exported.sessions += 1
    total = exported.header.counts.all_memories
    async for memory, origin in _memories(store, workspace):
        write(memory_line(memory, origin).encoded())
        exported.memories += 1
        if on_progress and exported.memories % PAGE == 0:
            await on_progress(exported.memories, max(total, exported.memories))
    write(EndLine(type="end").encoded())
    return exported


async def _counts(store: "MemoryStore", workspace: str) -> Counts:
    stats = await store.stats(workspace)
    jobs = await store.jobs.counts(workspace) if store.jobs else JobCounts()
    return Counts(
        memories=stats.memories,
        deleted=stats.deleted,
        replaced=stats.superseded,
        waiting_jobs=jobs.queued + jobs.running + jobs.failed,
    )


async def _sessions(store: "MemoryStore", workspace: str) -> AsyncIterator[SessionRecord]:
    after = ""
    while store.sessions and (page := await store.sessions.list_sessions(workspace, after)):
        for session in page:
            yield session
        after = page[-1].id


async def _memories(store: "MemoryStore", workspace: str) -> AsyncIterator[tuple[Memory, Origin]]:
    """All memories in the order of insertion, but for those that are purged meanwhile."""
    after, is_last = "", False
    while not is_last:
        page = await store.list_memories(workspace, state="all", order="inserted", after=after, limit=PAGE)
        origins = {one.id: one for one in await store.origins(workspace, [one.id for one in page.memories])}
        for memory in page.memories:
            if memory.id in origins:
                yield memory, origins[memory.id]
        after, is_last = page.after, not page.after


# Import.


@dataclass(slots=True)
class Imported:
    """The progress of an import. `existing` memories were there already, by their id or as an equal memory."""

    header: Header | None = None
    stored: int = 0
    existing: int = 0
    sessions: int = 0

    @property
    def memories(self) -> int:
        """The number of memories that were processed."""
        return self.stored + self.existing


async def import_file(
    engine: "MemoryEngine", file: BinaryIO, imported: Imported, on_progress: OnProgress | None = None
) -> None:
    """Store the sessions and memories of a file in the engine's workspace; `imported` counts them as they are stored.

    What is there already stays as it is. InvalidInputError names the line that cannot be imported; what comes before it is
    stored.
    """
    lines = _lines(file)
    number, first = next(lines, (1, b""))
    with _named(number):
        imported.header = parse_header(first)
    work = _Import(engine, imported, on_progress)
    for number, line in lines:
        try:
            with _named(number):
                await work.take(number, _parsed(line))
        except (InvalidInputError, ConfigurationError):
            await work.store_batch()
            raise
    await work.store_batch()
    if not work.is_whole:
        raise InvalidInputError(f"the file was cut off after line {number}: its last line is missing")


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, but for blank ones and the byte order mark of some editors."""
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield number, text


def _parsed(line: bytes) -> Line:
    if len(line) >= LONGEST_LINE:
        raise InvalidInputError(f"the line is longer than {LONGEST_LINE // 2**20} MB")
    try:
        return parse_line(line)
    except InvalidInputError:
        if line.endswith(b"\n"):
            raise
        raise InvalidInputError("the file was cut off in the middle of this line") from None


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Let errors name a line."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"line {number}: {error}") from None


class _Import:
    """Stores what the lines say, several memories at a time, in the order of the lines."""

    def __init__(self, engine: "MemoryEngine", imported: Imported, on_progress: OnProgress | None) -> None:
        self.is_whole = False
        self._engine = engine
        self._imported = imported
        self._on_progress = on_progress
        self._batch: dict[int, MemoryLine] = {}
        self._other_ids: dict[str, str] = {}  # of memories that have another id here, because an equal one was there

    async def take(self, number: int, line: Line) -> None:
        """Store what a line says, or keep it for the next batch."""
        if self.is_whole:
            raise InvalidInputError("the export ends above this line; import each file by itself")
        if isinstance(line, SessionLine):
            self._imported.sessions += await self._engine.sessions.put_session(self._engine.workspace, line.record())
        elif isinstance(line, MemoryLine):
            await self._take_memory(number, line)
        self.is_whole = isinstance(line, EndLine)

    async def _take_memory(self, number: int, line: MemoryLine) -> None:
        self._check_parts(line)
        if any(line.replaced_by == one.id for one in self._batch.values()):
            await self.store_batch()  # to know the id that its replacement has here
        self._batch[number] = line
        characters = sum(len(one.text) for one in self._batch.values())
        if len(self._batch) == BATCH or characters >= BATCH_CHARACTERS:
            await self.store_batch()

    def _check_parts(self, line: MemoryLine) -> None:
        """ConfigurationError where the store has no part for something of a memory."""
        if line.role or line.vector:
            self._engine.sessions  # noqa: B018 (it raises)
        if line.extractions:
            self._engine.graph  # noqa: B018

    async def store_batch(self) -> None:
        """Store the memories that wait; where one cannot be stored, those before it are, and the error names its line."""
        batch, self._batch = self._batch, {}
        if not batch:
            return
        try:
            await self._store(list(batch.values()))
        except InvalidInputError:
            for number, line in batch.items():
                with _named(number):
                    await self._store([line])
        if self._on_progress and self._imported.header:
            done = self._imported.memories
            await self._on_progress(done, max(done, self._imported.header.counts.all_memories))

    async def _store(self, lines: Sequence[MemoryLine]) -> None:
        store, workspace = self._engine.memories, self._engine.workspace
        there = {one.id for one in await store.origins(workspace, [line.id for line in lines])}
        new = [line for line in lines if line.id not in there]
        self._imported.existing += len(lines) - len(new)
        if new:
            self._count(new, await self._engine.with_embedder(partial(self._add, new)))

    async def _add(self, lines: Sequence[MemoryLine], embedder: "Embedder") -> list[Added]:
        memories = [await self._prepared(line, embedder) for line in lines]
        vectors = iter(await embedder.embed([text for memory in memories for text in _contents(memory)]))
        embedded = [
            replace(memory, chunks=tuple([replace(chunk, vector=next(vectors)) for chunk in memory.chunks]))
            for memory in memories
        ]
        return await self._engine.memories.add(self._engine.workspace, embedded)

    async def _prepared(self, line: MemoryLine, embedder: "Embedder") -> NewMemory:
        memory = await prepare(line.text, line.metadata, embedder, kind=line.kind, embed=False)
        replaced_by = self._other_ids.get(line.replaced_by or "", line.replaced_by)
        return replace(
            memory,
            key=line.key or memory.key,
            kind=line.kind,
            conversation=line.session or memory.conversation,
            origin=line.origin(replaced_by),
        )

    def _count(self, lines: Sequence[MemoryLine], added: Sequence[Added]) -> None:
        for line, one in zip(lines, added, strict=True):
            if one.memory_id != line.id:
                self._other_ids[line.id] = one.memory_id
            if one.outcome == "stored":
                self._imported.stored += 1
            else:
                self._imported.existing += 1


def _contents(memory: NewMemory) -> list[str]:
    """The texts of a memory's chunks as they are embedded."""
    known = KnownMetadata(author=memory.author, timestamp=memory.timestamp)
    return [indexed_text(known, chunk.heading, memory.text[chunk.start : chunk.end]) for chunk in memory.chunks]
