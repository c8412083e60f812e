"""Adding and searching, over stdio and inside, beside the bare embedder and bare SQLite doing the same work in the same run."""

import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np
from client import Server
from rich.console import Console
from rich.table import Table
from texts import pieces, questions

from zapomni_core.adding import prepare
from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.engine import MemoryEngine
from zapomni_core.terms import query_terms, terms
from zapomni_db.records import NewChunk, NewMemory
from zapomni_db.sqlite import SQLiteStore

SIZES = [int(size) for size in sys.argv[1:]] or [1_000, 10_000]
REAL_VECTORS = 10_000
QUESTIONS = 60
R = 1000


@dataclass
class Figures:
    """Medians in milliseconds."""

    embedding: float = 0.0
    inside: float = 0.0
    wire: float = 0.0
    bare: float = 0.0


def milliseconds(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


async def main() -> None:
    console = Console(highlight=False)
    embedder = DefaultEmbedder()
    await embedder.embed(["warm"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        search = Table(
            "chunks",
            "search over stdio ms",
            "inside",
            "embedding",
            "store and ranks",
            "bare queries",
            "ratio",
            title="Search (medians)",
        )
        space = Table(
            "chunks",
            "MB on disk",
            "bytes a chunk",
            "RSS MB of the server",
            "first search s",
            "bare embedder's load s",
            title="Space and cold start",
        )
        for size in SIZES:
            file = folder / f"{size}.db"
            texts = pieces(size)
            console.print(f"building {size:,} chunks …")
            await build(file, texts, embedder)
            asked = questions(texts, QUESTIONS)
            figures = await searching(file, asked, embedder)
            rest = figures.inside - figures.embedding
            search.add_row(
                f"{size:,}",
                f"{figures.wire:.1f}",
                f"{figures.inside:.1f}",
                f"{figures.embedding:.1f}",
                f"{rest:.1f}",
                f"{figures.bare:.1f}",
                f"{rest / figures.bare:.2f}",
            )
            space.add_row(f"{size:,}", *await cold(file, size, asked[0], folder))
        search.caption = "goal: store and ranks <= 1.5 of the bare queries"
        space.caption = "goals: RSS <= 300 MB at 100,000; first search <= the embedder's own load + 0.3 s"
        console.print(search)
        console.print(space)
        console.print(await adding(folder, embedder))
        console.print(await recall(folder / f"{SIZES[0]}.db", pieces(SIZES[0]), embedder))
    await embedder.close()


async def build(file: Path, texts: list[str], embedder: DefaultEmbedder) -> None:
    """One memory of one chunk for each text; past 10,000 with made-up vectors, which cost nothing to make."""
    vectors = await vectors_of(texts, embedder)
    store = SQLiteStore(file)
    batch = 64
    for first in range(0, len(texts), batch):
        part = zip(texts[first : first + batch], vectors[first : first + batch], strict=True)
        await asyncio.gather(*(store.add("default", memory(text, vector), embedder.identity) for text, vector in part))
    await store.close()


async def vectors_of(texts: list[str], embedder: DefaultEmbedder) -> np.ndarray:
    if len(texts) <= REAL_VECTORS:
        return await embedder.embed(texts)
    made = np.random.default_rng(3).standard_normal((len(texts), embedder.identity.dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def memory(text: str, vector: np.ndarray) -> NewMemory:
    chunk = NewChunk(
        start=0, end=len(text), heading="", terms=tuple(terms(text)), digest=text.encode()[:16], vector=vector
    )
    return NewMemory(text=text, metadata={}, chunks=(chunk,))


async def searching(file: Path, asked: list[str], embedder: DefaultEmbedder) -> Figures:
    figures = Figures()
    vectors, spent = [], []
    for question in asked:
        started = time.perf_counter()
        vectors.append((await embedder.embed([question], query=True))[0])
        spent.append(time.perf_counter() - started)
    figures.embedding = milliseconds(spent)
    figures.bare = milliseconds(bare_queries(file, asked, vectors))
    store = SQLiteStore(file)
    engine = MemoryEngine(store=store, embedder=embedder)
    await engine.search_memory("warm up")
    spent = []
    for question in asked:
        started = time.perf_counter()
        await engine.search_memory(question)
        spent.append(time.perf_counter() - started)
    figures.inside = milliseconds(spent)
    await store.close()
    with server(file) as running:
        running.open()
        call(running, "warm up")
        spent = [call(running, question) for question in asked]
    figures.wire = milliseconds(spent)
    return figures


def bare_queries(file: Path, asked: list[str], vectors: list[np.ndarray]) -> list[float]:
    """The statements and the arithmetic that no search can do without, by the bare driver and numpy."""
    connection = apsw.Connection(f"file:{file}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    kept = [bits for (bits,) in connection.execute("SELECT bits FROM code ORDER BY id")]
    codes = np.ascontiguousarray(np.frombuffer(b"".join(kept), "<u8").reshape(len(kept), -1).T)
    numbers = np.array([number for (number,) in connection.execute("SELECT id FROM code ORDER BY id")])
    spent = []
    for question, vector in zip(asked, vectors, strict=True):
        started = time.perf_counter()
        scores = np.zeros(len(numbers) + 1)
        for term in query_terms(question):
            (found,) = next(connection.execute("SELECT group_concat(doc) FROM vocabulary WHERE term = ?", (term,)))
            rows = np.array(found.split(","), dtype=np.int64) if found else np.empty(0, np.int64)
            np.add.at(scores, rows, np.log(1 + len(numbers) / (len(rows) + 0.5)))
        wanted = np.frombuffer(np.packbits(vector > 0).tobytes(), "<u8")
        distances = np.zeros(codes.shape[1], np.uint16)
        for word, bits in zip(codes, wanted, strict=True):
            distances += np.bitwise_count(word ^ bits)
        near = numbers[np.argpartition(distances, min(R, len(distances) - 1))[:R]]
        rows = connection.execute(
            "SELECT value FROM vector WHERE id IN (SELECT value FROM json_each(?))", (str(near.tolist()),)
        )
        matrix = (
            np.frombuffer(b"".join(value for (value,) in rows), np.float16).reshape(len(near), -1).astype(np.float32)
        )
        np.argsort(-(matrix @ vector))[:100]
        list(connection.execute("SELECT body.bytes FROM body LIMIT 10"))
        spent.append(time.perf_counter() - started)
    connection.close()
    return spent


def server(file: Path) -> Server:
    (file.parent / "empty.toml").touch()
    environment = {
        "ZAPOMNI_CONFIG": str(file.parent / "empty.toml"),
        "ZAPOMNI_STORE": f"sqlite://{file}",
        "ZAPOMNI_PLUGINS__DISABLE": "hello,audit",
    }
    return Server([str(Path(sys.executable).with_name("zapomni"))], environment)


def call(running: Server, question: str, tool: str = "search_memory") -> float:
    arguments = {"query": question} if tool == "search_memory" else {"text": question}
    started = time.perf_counter()
    answer = running.request("tools/call", {"name": tool, "arguments": arguments})
    assert not answer["result"]["isError"], answer
    return time.perf_counter() - started


async def cold(file: Path, size: int, question: str, folder: Path) -> list[str]:
    with server(file) as running:
        running.open()
        first = call(running, question)
        resident = running.resident_mb()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import asyncio, time; s = time.perf_counter()\nfrom zapomni_core.embedding import DefaultEmbedder\n"
        "asyncio.run(DefaultEmbedder().embed(['x'])); print(time.perf_counter() - s)",
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    load = float((await process.communicate())[0])
    disk = sum(one.stat().st_size for one in file.parent.glob(f"{file.name}*"))
    return [f"{disk / 2**20:.1f}", f"{disk / size:.0f}", f"{resident:.0f}", f"{first:.2f}", f"{load:.2f}"]


async def adding(folder: Path, embedder: DefaultEmbedder) -> Table:
    table = Table("adding", "figure", "baseline", "ratio", title="Adding")
    texts = pieces(120)[20:]
    with server(folder / "adds.db") as running:
        running.open()
        call(running, "warm up", "add_memory")
        adds = milliseconds([call(running, text[:100], "add_memory") for text in texts])
    embedding = milliseconds([await timed(embedder.embed([text[:100]])) for text in texts])
    commit = milliseconds(bare_commits(folder / "bare.db", texts))
    table.add_row(
        "short add over stdio",
        f"{adds:.1f} ms",
        f"embedding {embedding:.1f} + 3 x commit {commit:.1f} ms",
        f"{adds / (embedding + 3 * commit):.2f}",
    )
    megabyte = "\n\n".join(pieces(2800))[: 2**20]
    made = await prepare(megabyte, {}, embedder, no_reuse)
    contents = [megabyte[one.start : one.end] for one in made.chunks]
    bare = await timed(embedder.embed(contents))
    store = SQLiteStore(folder / "ingest.db")
    whole = await timed(MemoryEngine(store=store, embedder=embedder).add_memory(megabyte))
    await store.close()
    table.add_row(
        f"ingest of 1 MB, {len(contents):,} chunks",
        f"{whole:.1f} s",
        f"bare embedder {bare:.1f} s",
        f"{bare / whole:.2f} of its throughput",
    )
    table.caption = "goals: a short add <= embedding + 3 commits (ratio <= 1); ingest >= 0.8 of the bare embedder"
    return table


async def no_reuse(_embedder, _digests) -> dict:
    return {}


async def timed(work) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started


def bare_commits(file: Path, texts: list[str]) -> list[float]:
    with contextlib.closing(apsw.Connection(str(file))) as connection:
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE kept(text TEXT)"):
            connection.execute(statement).fetchall()
        spent = []
        for text in texts:
            started = time.perf_counter()
            connection.execute("INSERT INTO kept VALUES(?)", (text,)).fetchall()
            spent.append(time.perf_counter() - started)
    return spent


async def recall(file: Path, texts: list[str], embedder: DefaultEmbedder) -> str:
    """How many of the truly nearest ten the codes let through, with real vectors."""
    vectors = await embedder.embed(questions(texts, 100))
    store = SQLiteStore(file)

    def share(snapshot) -> float:
        everything = np.arange(snapshot.chunks)
        found = 0
        for vector in vectors:
            best = set(np.argsort(-snapshot.cosines(everything, vector))[:10].tolist())
            found += len(best & set(snapshot.nearest(vector, R).tolist()))
        return found / (10 * len(vectors))

    result = await store.read("default", share)
    await store.close()
    return f"recall@10 of the vector search against exact, {len(texts):,} real chunks: {result:.4f} (goal 0.99)"


asyncio.run(main())
