"""Compares relations around an entity in FalkorDB and SQLite: the same graph and questions, alternating.

    related.py [ENTITIES [RELATIONS]]

The tests' own FalkorDB is started on this machine. Both graphs are built by the stores' own way of writing: memories are added
with what was extracted from them, so many at a time.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from graph import ENTITIES, RELATIONS, memories, some_entities
from rich.console import Console
from rich.table import Table

from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore
from zapomni_db.records import NewMemory
from zapomni_db.sqlite import SQLiteStore

sys.path.append(str(Path(__file__).parents[1]))
from tests.servers import falkordb

TOGETHER = 50  # memories in one transaction
QUESTIONS = 200
LIMITS = [20, 50]
HUB = "Person 0"


async def main() -> None:
    console = Console(highlight=False, width=120)
    made = memories()
    with tempfile.TemporaryDirectory() as name, falkordb(Path(name) / "server") as server:
        stores = {
            "SQLite": SQLiteStore(Path(name) / "graph.db"),
            "FalkorDB": FalkorDBStore(FalkorDBClient.from_url(server.url("bench"))),
        }
        console.print(f"{ENTITIES:,} entities and {RELATIONS:,} relations from {len(made):,} memories")
        for which, store in stores.items():
            started = time.perf_counter()
            await build(store, made)
            rate = len(made) / (time.perf_counter() - started)
            console.print(f"{which}: {rate:,.0f} memories/s, {await store.graph.counts('default')}")
        console.print(await table(stores))
        for store in stores.values():
            await store.close()
        console.print(f"FalkorDB: {server.client().info('memory')['used_memory'] / 1e6:.0f} MB of memory")


async def build(store: Any, made: list[NewMemory]) -> None:
    for first in range(0, len(made), TOGETHER):
        await store.add("default", made[first : first + TOGETHER])


async def table(stores: dict[str, Any]) -> Table:
    """Milliseconds of each question in each store."""
    entities = (await some_entities(stores["SQLite"]))[:QUESTIONS]
    shown = Table("question", *stores, title="milliseconds, median (95 %)")
    for limit in LIMITS:
        asked = [[one.id] for one in entities]
        spent = await in_turns(stores, asked, lambda store, ids, limit=limit: related(store, ids, limit))
        shown.add_row(f"related at depth 2, {limit} relations", *map(figures, spent.values()))
    questions: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
        "related to a hub at depth 2": lambda store, _: related(store, [HUB], 50),
        "find": lambda store, _: store.graph.find("default", "who knows Person 4711?", 10),
        "counts": lambda store, _: store.graph.counts("default"),
    }
    for name, ask in questions.items():
        spent = await in_turns(stores, [None] * 20, ask)
        shown.add_row(name, *map(figures, spent.values()))
    return shown


async def related(store: Any, names: list[str], limit: int) -> int:
    return len((await store.graph.related("default", names, depth=2, limit=limit)).relations)


async def in_turns(
    stores: dict[str, Any], asked: list[Any], ask: Callable[[Any, Any], Awaitable[Any]]
) -> dict[str, list[float]]:
    """Seconds of each question; the stores must answer alike."""
    spent: dict[str, list[float]] = {name: [] for name in stores}
    for one in asked:
        answers = []
        for name, store in stores.items():
            started = time.perf_counter()
            answers.append(await ask(store, one))
            spent[name].append(time.perf_counter() - started)
        if isinstance(answers[0], int) and len(set(answers)) != 1:
            sys.exit(f"they find {answers} relations: they do not do the same")
    return spent


def figures(seconds: list[float]) -> str:
    """Median and 95th percentile, in milliseconds."""
    cuts = statistics.quantiles(seconds, n=20)
    return f"{cuts[9] * 1000:.2f} ({cuts[18] * 1000:.2f})"


if __name__ == "__main__":
    asyncio.run(main())
