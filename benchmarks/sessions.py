"""Measures MemoryManager: 64 concurrent writes, and each method one call after the other.

    sessions.py [MESSAGES DOCUMENTS]

Writes are compared with durable commits of one comparable row, the search for documents with numpy on an array in memory.
No embedder is run: messages and documents wait for their vectors.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from bare import BareCommits
from rich.console import Console
from rich.table import Table
from texts import pieces

from zapomni_core import MemoryEngine, MemoryManager
from zapomni_core.plugin import Provider
from zapomni_core.plugin.jobs import Postpone
from zapomni_core.providers import Providers
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore

MESSAGES, DOCUMENTS = [int(given) for given in sys.argv[1:3]] + [100_000, 20_000][len(sys.argv[1:3]) :]
DIMENSION = 1536
TOGETHER = 64
PER_SESSION = 500
CALLS = 200
CATEGORIES = 20
EVERYTHING = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))


class Idle:
    """Returns no vectors, because they are not measured."""

    async def run(self, *_: Any) -> dict[str, Any]:
        raise Postpone(86_400, "not now")


async def main() -> None:
    console = Console(highlight=False, width=140)
    texts = pieces(min(20_000, MESSAGES + DOCUMENTS))
    vectors = np.random.default_rng(1).standard_normal((DOCUMENTS, DIMENSION)).astype(np.float32)
    offered = Providers([Provider(kind="job", name="embed", factory=lambda _context: Idle())])
    with tempfile.TemporaryDirectory() as name, closing(BareCommits(Path(name) / "bare.db")) as bare:
        store = SQLiteStore(Path(name) / "memory.db")
        engine = MemoryEngine(providers=offered, store=store, embedder=HashingEmbedder(512))
        memory = MemoryManager(engine, embedding_dimension=DIMENSION)
        console.print(await writing(memory, bare, texts, vectors))
        console.print(await calling(memory, bare, texts, vectors))
        await engine.close()


async def writing(memory: MemoryManager, bare: BareCommits, texts: list[str], vectors: np.ndarray) -> Table:
    table = Table("stored", "per second", "bare commits per second", "ratio", title=f"{TOGETHER} concurrent writes")

    def message(n: int) -> Awaitable[Any]:
        return memory.store_message(UUID(int=n // PER_SESSION), "user", f"{n} {texts[n % len(texts)]}", {"n": 1})

    def document(n: int) -> Awaitable[Any]:
        text = f"{n} {texts[n % len(texts)]}"
        return memory.store_document(text, {"category": n % CATEGORIES}, vectors[n].tolist())

    for count, what, store in ((MESSAGES, "messages", message), (DOCUMENTS, "documents", document)):
        ours = theirs = 0.0
        for first in range(0, count, TOGETHER):
            numbers = range(first, min(first + TOGETHER, count))
            began = time.perf_counter()
            await asyncio.gather(*map(store, numbers))
            ours += time.perf_counter() - began
            began = time.perf_counter()
            for n in numbers:
                bare.commit(texts[n % len(texts)], vectors[n % DOCUMENTS])
            theirs += time.perf_counter() - began
        table.add_row(f"{count:,} {what}", f"{count / ours:,.0f}", f"{count / theirs:,.0f}", f"{ours / theirs:.2f}")
    return table


async def calling(memory: MemoryManager, bare: BareCommits, texts: list[str], vectors: np.ndarray) -> Table:
    table = Table("method", "p50 ms", "p95 ms", "bare p50 ms", title=f"{CALLS} calls one by one")
    asked = np.random.default_rng(2).standard_normal((CALLS, DIMENSION)).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    newest = (await memory.temporal_query(*EVERYTHING))[:51]
    span = (newest[-1].created_at, newest[0].created_at)

    def commit(n: int) -> None:
        bare.commit(texts[n % len(texts)], vectors[n % DOCUMENTS])

    def scan(n: int) -> None:
        np.argsort(-(vectors @ asked[n]) / lengths)[:10]

    methods: dict[str, tuple[Callable[[int], Awaitable[Any]], Callable[[int], None] | None]] = {
        "create_session": (lambda _: memory.create_session("ada", {"plan": 1}), commit),
        "store_message": (lambda n: memory.store_message(UUID(int=n % 10), "user", f"call {n} {texts[n]}"), commit),
        "store_document": (
            lambda n: memory.store_document(f"call {n} {texts[n]}", {"category": 1}, vectors[n % DOCUMENTS].tolist()),
            commit,
        ),
        "get_conversation_history, 100": (lambda n: memory.get_conversation_history(UUID(int=n % 10)), None),
        "semantic_search, 10": (lambda n: memory.semantic_search(asked[n].tolist()), scan),
        "semantic_search, 10 of a twentieth": (
            lambda n: memory.semantic_search(asked[n].tolist(), 10, {"category": n % CATEGORIES}),
            None,
        ),
        "temporal_query, 51": (lambda _: memory.temporal_query(*span), None),
        "health_check": (lambda _: memory.health_check(), None),
    }
    for name, (ours, theirs) in methods.items():
        spent, bare_spent = [], []
        for n in range(CALLS):
            began = time.perf_counter()
            await ours(n)
            spent.append((time.perf_counter() - began) * 1000)
            if theirs:
                began = time.perf_counter()
                theirs(n)
                bare_spent.append((time.perf_counter() - began) * 1000)
        figures = [statistics.median(spent), sorted(spent)[int(CALLS * 0.95)]]
        baseline = f"{statistics.median(bare_spent):.2f}" if theirs else ""
        table.add_row(name, *(f"{one:.2f}" for one in figures), baseline)
    return table


if __name__ == "__main__":
    asyncio.run(main())
