"""MemoryManager's methods beside the same statements by the bare driver, on stores of the same size, in the same run.

    sessions.py [MESSAGES [DOCUMENTS]]

Embedding is left aside on both sides: vectors of texts are made by a job, later. The bare side runs without a task, a queue or a
check, and what it reads is made into the same models, because that is what is asked for. One call after the other, it runs in this
thread, and once more by `asyncio.to_thread`: a driver that blocks has to be called so from an event loop, as the methods are.

What it writes is made before its clock starts: the chunks and terms of a text, digests, JSON, the bytes of a vector. No driver could
write the same rows otherwise, so what that takes is shown too, as "analysis", and there are two ratios: the plain one, and one in which the
bare side has to do the analysis as well. Words are remembered by the process, so the bare side gets other texts of the same kind:
neither side finds what the other one has just looked at.
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
from typing import Any
from uuid import UUID

import apsw
import numpy as np
from bare_sessions import DIMENSION, FIRST_SESSION, WORKSPACE, Analysis, Bare, BareSides, Statements, merged, recording
from rich.console import Console
from rich.table import Table
from texts import pieces

from zapomni_core import Document, MemoryEngine, MemoryManager, Message
from zapomni_core.plugin import Provider
from zapomni_core.plugin.jobs import Postpone
from zapomni_core.providers import Providers
from zapomni_core.telemetry import NO_TELEMETRY
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore, codes, facets
from zapomni_db.sqlite.connections import open_connection
from zapomni_db.sqlite.conversations import documents as document_rows
from zapomni_db.sqlite.conversations import messages as message_rows
from zapomni_db.sqlite.conversations import vectors as vector_rows
from zapomni_db.sqlite.conversations.nearness import EXACT, SURE
from zapomni_db.sqlite.values import to_micros

MESSAGES, DOCUMENTS = [int(given) for given in sys.argv[1:3]] + [100_000, 20_000][len(sys.argv[1:3]) :]
TOGETHER = 64
PER_SESSION = 500
CALLS = 500
CATEGORIES = 20
DIFFERENT_TEXTS = 20_000
EMBEDDER = HashingEmbedder(512)


class Idle:
    """Makes no vectors: they are not what is measured."""

    async def run(self, *_: Any) -> dict[str, Any]:
        raise Postpone(86_400, "not now")


async def manager(file: Path) -> tuple[MemoryEngine, MemoryManager]:
    """A store that has its first message."""
    offered = Providers([Provider(kind="job", name="embed", factory=lambda _context: Idle())])
    engine = MemoryEngine(providers=offered, store=SQLiteStore(file), embedder=EMBEDDER)
    memory = MemoryManager(engine, embedding_dimension=DIMENSION)
    await memory.store_message(FIRST_SESSION, "user", "hello")
    return engine, memory


async def bare_side(file: Path) -> Bare:
    """The bare driver on such a store."""
    engine, _ = await manager(file)
    await engine.close()
    return Bare(file)


async def check_statements(file: Path) -> None:
    """The bare side is to run what the store runs."""
    with recording() as transactions:
        engine, memory = await manager(file)
        analysis = Analysis(EMBEDDER)
        text, vector = "the same statements", [1.0] * DIMENSION
        await memory.create_session("ada", {"plan": 1})
        await memory.store_message(FIRST_SESSION, "user", text, {"n": 1})
        await memory.store_message(UUID(int=0), "user", text, {"n": 1})
        await memory.store_document(text, {"category": 1}, vector)
        await engine.close()
    for expected in (
        analysis.session(),
        analysis.message(str(FIRST_SESSION), text, {"n": 1}),
        analysis.message(str(UUID(int=0)), text, {"n": 1}),
        analysis.document(text, {"category": 1}, vector),
    ):
        if [statement for statement, rows in expected.items() for _ in rows] not in transactions:
            raise SystemExit(f"the store runs other statements: {transactions}")


async def check_rows(file: Path) -> None:
    """What the bare side wrote is to be a sound store."""
    store = SQLiteStore(file)
    if problems := await store.check():
        raise SystemExit(f"the bare side wrote something else: {problems}")
    await store.close()


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
    from zapomni_core.sessions.arguments import filter_of

    return filter_of({"category": category})


async def main() -> None:
    console = Console(highlight=False, width=180)
    texts = pieces(min(DIFFERENT_TEXTS, MESSAGES + DOCUMENTS))
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((DOCUMENTS, DIMENSION)).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await check_statements(folder / "watched.db")
        engine, memory = await manager(folder / "ours.db")
        bare = BareSides(await bare_side(folder / "each.db"), await bare_side(folder / "together.db"))
        analysis = Analysis(EMBEDDER)
        console.print(await filling(memory, bare, analysis, texts, vectors))
        for table in await calling(folder, memory, bare.together, analysis, texts=texts, vectors=vectors):
            console.print(table)
        await engine.close()
        for side in bare:
            side.connection.close()
        await check_rows(folder / "each.db")
        await check_rows(folder / "together.db")


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

    async def add(self, ours: Awaitable[Any], analysis: Callable[[], list[Statements]], bare: BareSides) -> None:
        """Store some of them: by us, and by the bare driver, durable each and all together."""
        with self.timing("ours"):
            await ours
        with self.timing("analysis"):
            ready = analysis()
        with self.timing("each"):
            for one in ready:
                bare.each.write(one)
        joined = merged(ready)
        with self.timing("together"):
            bare.together.write(joined)

    def row(self, count: int, what: str) -> list[str]:
        cells = [f"{count:,} {what}", f"{count / self.wall['ours']:,.0f}"]
        for side in ("each", "together"):
            cells += [f"{count / self.wall[side]:,.0f}", *self._ratios(self.wall, side), *self._ratios(self.cpu, side)]
        return cells

    @staticmethod
    def _ratios(spent: Counter[str], side: str) -> list[str]:
        """To the bare driver, and to one that does the analysis too."""
        return [f"{spent['ours'] / other:.2f}" for other in (spent[side], spent[side] + spent["analysis"])]


async def filling(
    memory: MemoryManager, bare: BareSides, analysis: Analysis, texts: list[str], vectors: np.ndarray
) -> Table:
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
            lambda others=others: [analysis.message(session, text, {"n": 1}) for session, text in others],
            bare,
        )
    table.add_row(*tally.row(MESSAGES, "messages"))
    tally = Tally()
    for first in range(0, DOCUMENTS, TOGETHER):
        numbers = range(first, min(first + TOGETHER, DOCUMENTS))
        given = [(f"{n} {texts[n % len(texts)]}", {"category": n % CATEGORIES}, vectors[n].tolist()) for n in numbers]
        others = [(f"{n} {other(texts, n)}", *rest) for n, (_, *rest) in zip(numbers, given, strict=True)]
        storing = (memory.store_document(*one) for one in given)
        await tally.add(
            asyncio.gather(*storing), lambda others=others: [analysis.document(*one) for one in others], bare
        )
    table.add_row(*tally.row(DOCUMENTS, "documents"))
    return table


def timed_call(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


async def calling(
    folder: Path, memory: MemoryManager, bare: Bare, analysis: Analysis, *, texts: list[str], vectors: np.ndarray
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

    text = [f"call {number} {texts[number]}" for number in range(CALLS)]
    listed = [vectors[number % DOCUMENTS].tolist() for number in range(CALLS)]
    analyses: dict[str, Callable[[int], Statements]] = {
        "create_session": analysis.session,
        "store_message": lambda n: analysis.message(str(sessions[n % CALLS]), f"call {n} {other(texts, n)}", {"n": 1}),
        "store_document": lambda n: analysis.document(
            f"call {n} {other(texts, n)}", {"category": 1}, listed[n % CALLS]
        ),
    }
    asked = [query.tolist() for query in queries]

    def write(_: BareReading, statements: Statements) -> None:
        bare.write(statements)

    methods: dict[str, tuple[Callable[[int], Awaitable[Any]], Callable[[BareReading, Any], Any]]] = {
        "create_session": (lambda _: memory.create_session("ada", {"plan": 1}), write),
        "store_message": (
            lambda n: memory.store_message(sessions[n], "user", text[n], {"n": 1}),
            write,
        ),
        "get_conversation_history, 100": (
            lambda n: memory.get_conversation_history(sessions[n]),
            lambda side, n: side.history(sessions[n]),
        ),
        "store_document": (
            lambda n: memory.store_document(text[n], {"category": 1}, listed[n]),
            write,
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
    prepare: Callable[[int], Any] | None = None,
) -> Compared:
    """What calls take, one of each in turn. What is analysed for the bare side is what it is called with."""
    figures, prepare = Compared(), prepare or (lambda number: number % CALLS)

    async def call_ours(number: int) -> None:
        async with figures.ours.call():
            await ours(number)

    async def call_bare(number: int) -> None:
        async with figures.analysis.call():
            ready = prepare(number)
        async with figures.bare.call():
            here(ready)

    async def call_threaded(number: int) -> None:
        ready = prepare(number + CALLS)
        async with figures.threaded.call():
            await asyncio.to_thread(in_thread, ready)

    turns = [call_ours, call_bare, call_threaded]
    for number in range(3):
        await ours(number)
    for number in range(3, CALLS):
        turns.append(turns.pop(0))  # whoever comes later finds what the others have just read
        for call in turns:
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
