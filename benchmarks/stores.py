"""Compares stores: adding, searching and listing in a FalkorDB server and in SQLite, at several sizes.

    stores.py [SIZES]

Each figure is the median of the wall and, after it, the mean of the processor's time, client and server together: a busy machine
tells more of itself by the first. The tests' own FalkorDB is started on this machine. No embedder is run: the vectors are random ones around some centres. A search
is what the core asks of a store for one question: `term_counts`, `candidates` and `chunks`.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from texts import pieces, questions

from zapomni_core.text.terms import terms
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import EmbedderIdentity, NewChunk, NewMemory, Question
from zapomni_db.sqlite import SQLiteStore

sys.path.append(str(Path(__file__).parents[1]))
from tests.servers import FalkorDBServer, falkordb

SIZES = [int(size) for size in sys.argv[1:] if size.isdecimal()] or [1_000, 10_000, 100_000]
EMBEDDER = EmbedderIdentity("benchmark", "none", 512)
CENTRES = 200
TOGETHER = 100
CALLS = 40
START = datetime(2025, 1, 1, tzinfo=UTC)
RARE = Filter(tags=("rare",))
_MEMORY = """
import asyncio, resource, sys
sys.path[:0] = sys.path[0], {folder!r}
import stores
print(asyncio.run(stores.resident({url!r})))
"""


async def main() -> None:
    console = Console(highlight=False, width=140)
    texts = pieces(max(SIZES) + CALLS)
    with tempfile.TemporaryDirectory() as name, falkordb(Path(name) / "server") as server:
        for size in SIZES:
            urls = {"SQLite": f"sqlite://{name}/{size}.db", "FalkorDB": server.url(f"bench-{size}")}
            table = Table("milliseconds: wall, processor", *urls, title=f"{size:,} chunks")
            columns = [await measured(url, size, texts, server) for url in urls.values()]
            for row in columns[0]:
                table.add_row(row, *[column[row] for column in columns])
            console.print(table)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Any]:
    """The store of a URL."""
    if url.startswith("sqlite"):
        store: Any = SQLiteStore(Path(url.partition("://")[2]))
    else:
        from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore

        store = FalkorDBStore(FalkorDBClient.from_url(url))
    try:
        yield store
    finally:
        await store.close()


async def measured(url: str, size: int, texts: list[str], server: FalkorDBServer) -> dict[str, str]:
    """The figures of one store at one size."""
    with server.client() as other:
        return await _measured(url, size, texts, partial(computing, other))


def computing(other: Any) -> float:
    """Seconds of the processor, of this process and of the server."""
    told = other.info("cpu")
    return time.process_time() + told["used_cpu_user"] + told["used_cpu_sys"]


async def _measured(url: str, size: int, texts: list[str], spent: Callable[[], float]) -> dict[str, str]:
    new = list(memories(texts[: size + CALLS]))
    asked = questions(texts[:size], CALLS)
    async with opened(url) as store:
        begun, before = time.perf_counter(), spent()
        for first in range(0, size, TOGETHER):
            await store.add("default", new[first : first + TOGETHER])
        filling = 1000 * (time.perf_counter() - begun) / size, 1000 * (spent() - before) / size
        end = await last_page(store)
        figures = {
            "add": await timed([lambda one=one: store.add("default", [one]) for one in new[size:]], spent),
            f"add, each of {TOGETHER} at once": f"{filling[0]:.1f}, {filling[1]:.1f}",
            "search": await timed([lambda text=text: search(store, text, NO_FILTER) for text in asked], spent),
            "search, filter of 1 %": await timed(
                [lambda text=text: search(store, text, RARE) for text in asked], spent
            ),
            "first page": await timed([lambda: store.list_memories("default") for _ in range(CALLS)], spent),
            "last page": await timed([lambda: store.list_memories("default", after=end) for _ in range(CALLS)], spent),
        }
    code = _MEMORY.format(folder=str(Path(__file__).parent), url=url)
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: ASYNC221 (nothing else runs)
    return figures | {"memory of a client that searched, MB": told.stdout.strip()}


def memories(texts: list[str]) -> Any:
    """Memories of one chunk, most of them turns of conversations of fifty, one in a hundred with a tag."""
    chance = np.random.default_rng(1)
    centres = chance.standard_normal((CENTRES, EMBEDDER.dimension))
    for number, text in enumerate(texts):
        vector = centres[number % CENTRES] + 0.7 * chance.standard_normal(EMBEDDER.dimension)
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        yield NewMemory(
            text=text,
            metadata={},
            chunks=(NewChunk(start=0, end=len(text), heading="", terms=tuple(terms(text)), vector=unit),),
            embedder=EMBEDDER,
            conversation=f"talk {number // 50}",
            tags=("rare",) if number % 100 == 0 else (),
            timestamp=START + timedelta(minutes=number),
        )


async def search(store: Any, text: str, wanted: Filter) -> None:
    asked = tuple(dict.fromkeys(terms(text)))
    counts = await store.term_counts("default", asked)
    vector = np.random.default_rng(len(text)).standard_normal(EMBEDDER.dimension)
    unit = (vector / np.linalg.norm(vector)).astype(np.float32)
    question = Question(terms=asked, counts=counts, vector=unit, embedder=EMBEDDER, wanted=wanted)
    found = await store.candidates("default", question)
    await store.chunks("default", [one.chunk for one in found.found[:20]])


async def last_page(store: Any) -> str:
    """The cursor of the page before the last one."""
    after = end = ""
    while True:
        page = await store.list_memories("default", after=after, limit=500)
        if not page.after:
            return end
        end = after = page.after


async def resident(url: str) -> str:
    """The memory in use after some searches."""
    async with opened(url) as store:
        for text in ("the file that is read", "import of names", "return the value"):
            await search(store, text, NO_FILTER)
        status = Path("/proc/self/status").read_text()  # noqa: ASYNC240
    return f"{int(status.partition('VmRSS:')[2].split()[0]) // 1024}"


async def timed(calls: list[Callable[[], Awaitable[Any]]], spent: Callable[[], float]) -> str:
    """The median of some calls after a warm-up, and their processor time."""
    seconds = []
    await calls[0]()
    before = spent()
    for call in calls[1:]:
        begun = time.perf_counter()
        await call()
        seconds.append(1000 * (time.perf_counter() - begun))
    return f"{statistics.median(seconds):.1f}, {1000 * (spent() - before) / len(seconds):.1f}"


if __name__ == "__main__":
    asyncio.run(main())
