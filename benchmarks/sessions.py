"""MemoryManager's methods beside the same statements by the bare driver, on stores of the same size, in the same run.

    sessions.py [MESSAGES [DOCUMENTS]]

Embedding is left aside on both sides: vectors of texts are made by a job, later. The bare side runs without a task, a queue or a
check, and what it reads is made into the same models, because that is what is asked for. One call after the other, it runs in this
thread, and once more by `asyncio.to_thread`: a driver that blocks has to be called so from an event loop, as the methods are.

What it writes is made before its clock starts: the terms of a text, digests, JSON, the bytes of a vector. No driver could write
them otherwise, so what that takes is shown too, as "analysis", and there are two ratios: the plain one, and one in which the bare
side has to do the analysis as well. Cutting a text into chunks is not in it, nor is the seal of a memory. Words are remembered by
the process, so the bare side gets other texts of the same kind: neither side finds what the other one has just looked at.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import apsw
import numpy as np
from bare import MEMORY
from rich.console import Console
from rich.table import Table
from texts import pieces

from zapomni_core import Document, MemoryEngine, MemoryManager, Message
from zapomni_core.plugin import Postpone, Provider
from zapomni_core.provider import Providers
from zapomni_core.telemetry import NO_TELEMETRY
from zapomni_core.terms import terms
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore, codes, facets
from zapomni_db.sqlite.connections import open_connection
from zapomni_db.sqlite.conversations import documents as document_rows
from zapomni_db.sqlite.conversations import messages as message_rows
from zapomni_db.sqlite.conversations import vectors as vector_rows
from zapomni_db.sqlite.conversations.nearness import EXACT, SURE
from zapomni_db.sqlite.ids import new_id
from zapomni_db.sqlite.values import to_micros

MESSAGES, DOCUMENTS = [int(given) for given in sys.argv[1:3]] + [100_000, 20_000][len(sys.argv[1:3]) :]
DIMENSION = 1536
TOGETHER = 64
PER_SESSION = 500
CALLS = 200
BLOCK = 20  # calls one after the other, before it is another's turn
CATEGORIES = 20
DIFFERENT_TEXTS = 20_000
WORKSPACE = "default"


class Idle:
    """Makes no vectors: they are not what is measured."""

    async def run(self, *_: Any) -> dict[str, Any]:
        raise Postpone(86_400, "not now")


def manager(file: Path) -> tuple[MemoryEngine, MemoryManager]:
    offered = Providers([Provider(kind="job", name="embed", factory=lambda _context: Idle())])
    engine = MemoryEngine(providers=offered, store=SQLiteStore(file), embedder=HashingEmbedder(512))
    return engine, MemoryManager(engine, embedding_dimension=DIMENSION)


class Bare:
    """A connection like the store's, and the statements that the store runs."""

    def __init__(self, file: Path) -> None:
        self.connection = open_connection(file, writing=True)
        self.sessions: dict[str, int] = {}
        self._memory, self._chunk = (
            self.connection.execute("SELECT coalesce(max(id), 0) FROM " + table).get for table in ("memory", "chunk")
        )

    def write(self, prepared: list[dict[str, Any]]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        for one in prepared:
            self._write(one)
        self.connection.execute("COMMIT")

    def _write(self, one: dict[str, Any]) -> None:
        execute, now = self.connection.execute, time.time_ns() // 1000
        self._memory += 1
        self._chunk += 1
        if one["session"]:
            self._take_turn(one["session"], now)
        execute("SELECT id FROM embedder WHERE id = (SELECT value FROM meta WHERE key = 'serving')").fetchall()
        fixed = (one["uid"], one["kind"], one["session"], one["metadata"], now, self._memory, self._chunk)
        execute(MEMORY, (*fixed, None, one["seal"], now, one["thread"]))
        execute("INSERT INTO body VALUES(?, ?)", (self._memory << 20, one["text"]))
        self.connection.executemany(
            "INSERT INTO facet VALUES(?, ?)", [(facet, self._memory) for facet in one["facets"]]
        )
        execute(
            "INSERT INTO chunk VALUES(?, ?, 0, ?, 0, ?, '', ?)",
            (self._chunk, self._memory, len(one["text"]), len(one["text"]), one["length"]),
        )
        execute("INSERT INTO term(rowid, terms) VALUES(?, ?)", (self._chunk, one["terms"]))
        execute("INSERT INTO change(workspace, memory, state) VALUES(?, ?, 'added')", (WORKSPACE, self._memory))
        execute(
            "SELECT id FROM job WHERE workspace = ? AND kind = 'embed' AND key = 'embed' AND due_at > 0", (WORKSPACE,)
        ).fetchall()
        if one["session"]:
            execute("INSERT INTO message VALUES(?, ?, 'user')", (self._memory, self.sessions[one["session"]]))
        if one["vector"] is not None:
            value, bits, sketch = one["vector"]
            execute("INSERT INTO document_vector VALUES(?, ?, ?, 1.0, 0)", (self._memory, DIMENSION, value))
            execute("INSERT INTO document_sketch VALUES(?, ?)", (self._memory, sketch))
            execute("INSERT INTO document_code VALUES(?, ?, ?)", (DIMENSION, self._memory, bits))

    def _take_turn(self, session: str, now: int) -> None:
        if session in self.sessions:
            self.connection.execute(
                "UPDATE session SET updated_at = ? WHERE workspace = ? AND uid = ?", (now, WORKSPACE, session)
            )
        else:
            self.create_session(session, now)

    def create_session(self, session: str, now: int) -> None:
        self.sessions[session] = self.connection.execute(
            "INSERT INTO session(workspace, uid, user_id, metadata, created_at, updated_at) VALUES(?, ?, '', '{}', ?, ?)"
            " RETURNING id",
            (WORKSPACE, session, now, now),
        ).get


class BareSides(NamedTuple):
    """One that commits each, and one that commits many together; each has a file of its own."""

    each: Bare
    together: Bare


async def bare_side(file: Path) -> Bare:
    store = SQLiteStore(file)
    await store.conversations.health()
    await store.close()
    return Bare(file)


def prepared(
    text: str, session: str = "", metadata: dict[str, Any] | None = None, vector: Any = None
) -> dict[str, Any]:
    """What is written of a message or a document, as values for the statements."""
    kind, found = "message" if session else "document", list(terms(text))
    kept = None if vector is None else np.asarray(vector, np.float32)
    return {
        "uid": new_id(time.time_ns() // 1000),
        "kind": kind,
        "session": session,
        "metadata": json.dumps(metadata or {}),
        "seal": bytes(16),
        "thread": hash(session),
        "text": text.encode(),
        "facets": facets.facets_of(
            WORKSPACE, kind=kind, source="", author="", conversation=session, tags=(), metadata=metadata or {}
        ),
        "terms": " ".join(found),
        "length": len(found),
        "vector": None
        if kept is None
        else (kept.tobytes(), codes.signs(kept), vector_rows.sketch(kept, 1.0, vector_rows.check(kept))),
    }


class BareSearch:
    """The nearest documents by the same codes and the same arithmetic, without anything around it."""

    def __init__(self, file: Path) -> None:
        self.connection = open_connection(file)
        found = self.connection.execute("SELECT memory, bits FROM document_code ORDER BY memory").fetchall()
        self.numbers = np.array([number for number, _ in found])
        self.codes = codes.read_codes(b"".join(bits for _, bits in found), DIMENSION // 64, len(found))

    def __call__(self, query: list[float], category: int | None = None) -> list[Any]:
        vector, mask = np.asarray(query, np.float32), None
        if category is not None:
            group = next(iter(facets.asked(WORKSPACE, _wanted(category))))
            mask = np.isin(self.numbers, facets.holding(self.connection, group))
        near = self.numbers[codes.nearest(self.codes, codes.signs(vector), 2 * EXACT, mask)]
        if len(near) > EXACT:
            near = vector_rows.likeliest(self.connection, near, vector, SURE)
        rows = self.connection.execute(
            "SELECT v.value, v.length FROM carray(?) wanted CROSS JOIN document_vector v ON v.memory = wanted.value",
            (apsw.carray(near),),
        ).fetchall()
        matrix = np.frombuffer(b"".join(value for value, _ in rows), np.float32).reshape(len(near), DIMENSION)
        best = near[np.argsort(-(matrix @ vector) / np.array([length for _, length in rows]))[:10]]
        found = self.connection.execute(document_rows._SELECT + document_rows._THESE, (apsw.carray(best),))
        return list(map(document, found))


class BareReading:
    """The statements that the store reads by, on a connection that nobody else reads by: what it holds, it has read itself."""

    def __init__(self, file: Path) -> None:
        self.connection = open_connection(file)
        self.near = BareSearch(file)

    def history(self, session: UUID) -> list[Message]:
        find = "SELECT id FROM session WHERE workspace = ? AND uid = ?"
        number = self.connection.execute(find, (WORKSPACE, str(session))).get
        return [message(row, session) for row in self.connection.execute(message_rows._LAST, (number, 100))]

    def between(self, start: datetime, end: datetime) -> list[Document]:
        statement = document_rows._SELECT + document_rows._BETWEEN + document_rows._NEWEST_FIRST
        found = self.connection.execute(statement, (WORKSPACE, to_micros(start), to_micros(end), -1))
        return list(map(document, found))


def document(row: tuple[Any, ...]) -> Document:
    value, uid, metadata, created_at, text = row
    created = datetime.fromtimestamp(created_at / 1e6, UTC)
    return Document(
        id=UUID(uid),
        content=text.decode(),
        embedding=np.frombuffer(value, np.float32).tolist(),
        metadata_=json.loads(metadata),
        created_at=created,
        updated_at=created,
    )


def message(row: tuple[Any, ...], session: UUID) -> Message:
    role, uid, metadata, created_at, text = row
    created = datetime.fromtimestamp(created_at / 1e6, UTC)
    return Message(
        id=UUID(uid),
        session_id=session,
        role=role,
        content=text.decode(),
        metadata_=json.loads(metadata),
        created_at=created,
    )


def _wanted(category: int) -> Any:
    from zapomni_core.sessions.rules import filter_of

    return filter_of({"category": category})


async def main() -> None:
    console = Console(highlight=False, width=180)
    texts = pieces(min(DIFFERENT_TEXTS, MESSAGES + DOCUMENTS))
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((DOCUMENTS, DIMENSION)).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine, memory = manager(folder / "ours.db")
        await memory.health_check()
        bare = BareSides(await bare_side(folder / "each.db"), await bare_side(folder / "together.db"))
        console.print(await filling(memory, bare, texts, vectors))
        for table in await calling(folder, memory, bare.together, texts, vectors):
            console.print(table)
        await engine.close()


def said(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Sessions and messages, all different."""
    for number in range(MESSAGES):
        yield str(UUID(int=number // PER_SESSION)), f"{number} {texts[number % len(texts)]}"


def other(texts: list[str], number: int) -> str:
    """Another text of the same kind."""
    return texts[(number + len(texts) // 2) % len(texts)]


@dataclass
class Tally:
    """Seconds on the wall and of the processor, by who spent them."""

    wall: Counter[str] = field(default_factory=Counter)
    cpu: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def timing(self, who: str) -> Iterator[None]:
        """Count what is done meanwhile."""
        began = time.perf_counter(), time.process_time()
        yield
        self.wall[who] += time.perf_counter() - began[0]
        self.cpu[who] += time.process_time() - began[1]

    async def add(self, ours: Awaitable[Any], analysis: Callable[[], list[dict[str, Any]]], bare: BareSides) -> None:
        """Store some of them: by us, and by the bare driver, durable each and all together."""
        with self.timing("ours"):
            await ours
        with self.timing("analysis"):
            ready = analysis()
        with self.timing("each"):
            for one in ready:
                bare.each.write([one])
        with self.timing("together"):
            bare.together.write(ready)

    def row(self, count: int, what: str) -> list[str]:
        cells = [f"{count:,} {what}", f"{count / self.wall['ours']:,.0f}"]
        for side in ("each", "together"):
            cells += [f"{count / self.wall[side]:,.0f}", *self._ratios(self.wall, side), *self._ratios(self.cpu, side)]
        return cells

    @staticmethod
    def _ratios(spent: Counter[str], side: str) -> list[str]:
        """To the bare driver, and to one that does the analysis too."""
        return [f"{spent['ours'] / other:.2f}" for other in (spent[side], spent[side] + spent["analysis"])]


async def filling(memory: MemoryManager, bare: BareSides, texts: list[str], vectors: np.ndarray) -> Table:
    """What is stored a second where 64 wait at once, in turns with the bare driver.

    Each of the 64 is told when its message is durable. The bare driver commits each for that; it is quicker where it is given
    all of them beforehand, as a bulk load, and commits once.
    """
    table = Table("stored", "ours /s", title=f"Writing, {TOGETHER} at once", caption="goal: ratio <= 1.5")
    for side in ("bare, durable each", "bare, one commit"):
        for column in (f"{side} /s", "ratio", "with analysis", "of CPU", "with analysis"):
            table.add_column(column)
    tally, sayings = Tally(), list(said(texts))
    for first in range(0, MESSAGES, TOGETHER):
        batch = sayings[first : first + TOGETHER]
        others = [(session, f"{n} {other(texts, n)}") for n, (session, _) in enumerate(batch, first)]
        storing = (memory.store_message(UUID(session), "user", text, {"n": 1}) for session, text in batch)
        await tally.add(
            asyncio.gather(*storing),
            lambda others=others: [prepared(text, session, {"n": 1}) for session, text in others],
            bare,
        )
    table.add_row(*tally.row(MESSAGES, "messages"))
    tally = Tally()
    for first in range(0, DOCUMENTS, TOGETHER):
        numbers = range(first, min(first + TOGETHER, DOCUMENTS))
        given = [(f"{n} {texts[n % len(texts)]}", {"category": n % CATEGORIES}, vectors[n].tolist()) for n in numbers]
        others = [(f"{n} {other(texts, n)}", "", *rest) for n, (_, *rest) in zip(numbers, given, strict=True)]
        storing = (memory.store_document(*one) for one in given)
        await tally.add(asyncio.gather(*storing), lambda others=others: [prepared(*one) for one in others], bare)
    table.add_row(*tally.row(DOCUMENTS, "documents"))
    return table


def timed_call(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


async def calling(
    folder: Path, memory: MemoryManager, bare: Bare, texts: list[str], vectors: np.ndarray
) -> tuple[Table, Table]:
    """Each method one call after the other, in turns with the bare driver, here and in a thread."""
    wall = ("p50 ms", "p95", "bare p50", "p95", "ratio", "in a thread p50", "p95", "ratio")
    cpu = ("CPU ms", "bare", "ratio", "in a thread", "ratio")
    table = Table("method", *wall, *cpu, title=f"{CALLS} calls one by one")
    ratios = ("ratio", "in a thread", "ratio of CPU", "in a thread")
    analysed = Table("method", "analysis ms", *ratios, title="The same, where the bare side does the analysis too")
    queries = np.random.default_rng(2).standard_normal((CALLS, DIMENSION))
    sessions = [UUID(int=number % (MESSAGES // PER_SESSION)) for number in range(CALLS)]
    everything = await memory.temporal_query(datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
    starts = [number * (len(everything) - 51) // CALLS for number in range(CALLS)]
    spans = [(everything[at + 50].created_at, everything[at].created_at) for at in starts]
    del everything
    here, in_thread = BareReading(folder / "ours.db"), BareReading(folder / "ours.db")

    def bare_session(_: int) -> None:
        bare.connection.execute("BEGIN IMMEDIATE")
        bare.create_session(str(uuid4()), 1)
        bare.connection.execute("COMMIT")

    text = [f"call {number} {texts[number]}" for number in range(CALLS)]
    listed = [vectors[number].tolist() for number in range(CALLS)]
    arguments = {
        "store_message": [(str(sessions[n]), {"n": 1}) for n in range(CALLS)],
        "store_document": [("", {"category": 1}, listed[n]) for n in range(CALLS)],
    }
    analyses = {
        name: lambda n, given=given: [prepared(f"call {n} {other(texts, n)}", *given[n % CALLS])]
        for name, given in arguments.items()
    }
    asked = [query.tolist() for query in queries]
    methods: dict[str, tuple[Callable[[int], Awaitable[Any]], Callable[[BareReading, Any], Any]]] = {
        "create_session": (lambda _: memory.create_session("ada", {"plan": 1}), lambda _, n: bare_session(n)),
        "store_message": (
            lambda n: memory.store_message(sessions[n], "user", text[n], {"n": 1}),
            lambda _, ready: bare.write(ready),
        ),
        "get_conversation_history, 100": (
            lambda n: memory.get_conversation_history(sessions[n]),
            lambda side, n: side.history(sessions[n]),
        ),
        "store_document": (
            lambda n: memory.store_document(text[n], {"category": 1}, listed[n]),
            lambda _, ready: bare.write(ready),
        ),
        "semantic_search, 10": (lambda n: memory.semantic_search(asked[n]), lambda side, n: side.near(asked[n])),
        "semantic_search, 10 of a twentieth": (
            lambda n: memory.semantic_search(asked[n], 10, {"category": n % CATEGORIES}),
            lambda side, n: side.near(asked[n], n % CATEGORIES),
        ),
        "temporal_query, 51": (lambda n: memory.temporal_query(*spans[n]), lambda side, n: side.between(*spans[n])),
        "health_check": (
            lambda _: memory.health_check(),
            lambda side, _: side.connection.execute("PRAGMA user_version").fetchall(),
        ),
    }
    for name, (ours, theirs) in methods.items():
        figures = await compared(ours, partial(theirs, here), partial(theirs, in_thread), analyses.get(name))
        table.add_row(name, *figures.row())
        if name in analyses:
            analysed.add_row(name, f"{figures.analysis.median:.2f}", *figures.ratios(figures.analysis))
    found = await recall(memory, vectors, asked)
    table.caption = (
        f"goal: ratio <= 1.5; found of the true 10 nearest: {found:.3f}; "
        f"telemetry that is off: {untold_span() * 1e6:.2f} microseconds a call"
    )
    return table, analysed


@dataclass
class Spent:
    """Milliseconds of calls: on the wall, and of the processor, which say most on a machine that others use too."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Note what a call takes."""
        began = time.perf_counter(), time.process_time()
        yield
        self.wall.append((time.perf_counter() - began[0]) * 1000)
        self.cpu.append((time.process_time() - began[1]) * 1000)

    @property
    def median(self) -> float:
        """On the wall."""
        return statistics.median(self.wall)

    @property
    def mean_cpu(self) -> float:
        """Of the processor."""
        return statistics.fmean(self.cpu)


@dataclass
class Compared:
    """A method, the bare driver, the bare driver in a thread, and the analysis for it."""

    analysis: Spent = field(default_factory=Spent)
    ours: Spent = field(default_factory=Spent)
    bare: Spent = field(default_factory=Spent)
    threaded: Spent = field(default_factory=Spent)

    def row(self) -> list[str]:
        """Medians, 95th percentiles and means of processor time."""
        wall, thread, cpu, thread_cpu = self.ratios()
        both = [f"{one:.2f}" for spent in (self.ours, self.bare) for one in (spent.median, ninety_fifth(spent.wall))]
        threaded = [f"{self.threaded.median:.2f}", f"{ninety_fifth(self.threaded.wall):.2f}", thread]
        means = [f"{spent.mean_cpu:.2f}" for spent in (self.ours, self.bare, self.threaded)]
        return [*both, wall, *threaded, *means[:2], cpu, means[2], thread_cpu]

    def ratios(self, more: Spent | None = None) -> list[str]:
        """To the bare driver and to that in a thread, by the clock and by the processor; each of them with something more."""
        sides, (wall, cpu) = (self.bare, self.threaded), (more.median, more.mean_cpu) if more else (0.0, 0.0)
        by_clock = [self.ours.median / (side.median + wall) for side in sides]
        by_cpu = [self.ours.mean_cpu / (side.mean_cpu + cpu) for side in sides]
        return [f"{one:.2f}" for one in (*by_clock, *by_cpu)]


async def compared(
    ours: Callable[[int], Awaitable[Any]],
    here: Callable[[Any], Any],
    in_thread: Callable[[Any], Any],
    analysis: Callable[[int], Any] | None = None,
) -> Compared:
    """What calls take, in turns of so many. What is analysed for the bare side is what it is called with."""
    figures, analysis = Compared(), analysis or (lambda number: number % CALLS)

    async def call_ours(number: int) -> None:
        async with figures.ours.call():
            await ours(number)

    async def call_bare(number: int) -> None:
        async with figures.analysis.call():
            ready = analysis(number)
        async with figures.bare.call():
            here(ready)

    async def call_threaded(number: int) -> None:
        ready = analysis(number + CALLS)
        async with figures.threaded.call():
            await asyncio.to_thread(in_thread, ready)

    turns = [call_ours, call_bare, call_threaded]
    for number in range(3):
        await ours(number)
    for first in range(3, CALLS, BLOCK):
        turns.append(turns.pop(0))  # whoever comes later finds what the others have just read
        for call in turns:
            for number in range(first, min(first + BLOCK, CALLS)):
                await call(number)
    return figures


def untold_span(times: int = 100_000) -> float:
    """What an operation pays for telemetry that is switched off, in seconds."""

    def told() -> None:
        for _ in range(times):
            with NO_TELEMETRY.span("memory.store_message") as span:
                span.set(session_id="", role="user", content_length=1)

    def untold() -> None:
        for _ in range(times):
            pass

    return (timed_call(told) - timed_call(untold)) / times


def ninety_fifth(spent: list[float]) -> float:
    return sorted(spent)[int(len(spent) * 0.95)]


async def recall(memory: MemoryManager, vectors: np.ndarray, asked: list[list[float]]) -> float:
    """The share of the true ten nearest that is found, by questions that are near nothing: the hardest ones."""
    found = []
    for query in asked[:50]:
        least = np.sort(vectors @ np.array(query, np.float32) / np.linalg.norm(vectors, axis=1))[-10]
        hits = [np.array(one.embedding, np.float32) for one in await memory.semantic_search(query)]
        unit = np.array(query, np.float32)
        found.append(sum(hit @ unit / np.linalg.norm(hit) >= least * (1 - 1e-5) for hit in hits) / 10)
    return statistics.fmean(found)


if __name__ == "__main__":
    asyncio.run(main())
