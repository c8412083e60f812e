"""Compares relations around an entity with bare statements for the same rows, alternating in one run.

Both run in a thread beside the event loop, all on one core: two threads that take turns are on one or on two of them by chance,
and to wake another core takes longer than what is measured. The bare statements run on a connection as the driver gives it, and once more on one
that is set as ours: planning a statement with a limit once, and a larger cache. On a machine that has other work, the clock tells more of that work than of ours:
the processor's time, of all threads, is measured too. The graph is built by the store's own way of writing: memories are added with what was extracted from them, so many at a time.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import zapomni_plugin_graph
from rich.console import Console
from rich.table import Table

from zapomni_core.testing import running
from zapomni_db.records import EmbedderIdentity, Entity, Extraction, NewChunk, NewEntity, NewMemory, NewRelation
from zapomni_db.sqlite import SQLiteStore

ENTITIES, RELATIONS = (int(size) for size in (*sys.argv[1:], 50_000, 200_000)[:2])
EMBEDDER = EmbedderIdentity("benchmark", "none", 512)
PER_MEMORY = 10  # relations that one memory states
TOGETHER = 64  # memories that are added at a time
QUESTIONS = 500
LIMITS = [20, 50, 200]
HUBS = 20  # entities that one relation in twenty is about

_START = "SELECT id FROM entity WHERE uid = ? AND workspace = ?"
_AROUND = """
SELECT r.id, r.subject, r.object, r.evidence, r.latest FROM carray(:frontier) w
    CROSS JOIN relation r ON r.subject = w.value AND r.evidence > 0 AND r.valid_until IS NULL
UNION
SELECT r.id, r.subject, r.object, r.evidence, r.latest FROM carray(:same) w
    CROSS JOIN relation r ON r.object = w.value AND r.evidence > 0 AND r.valid_until IS NULL
ORDER BY 4 DESC, 5 DESC LIMIT :limit
"""
_DETAILS = """
SELECT r.uid, r.type, r.valid_from, r.valid_until, r.ended_by,
    s.uid, s.name, s.type, s.mentions, s.memories, o.uid, o.name, o.type, o.mentions, o.memories
FROM carray(?) w CROSS JOIN relation r ON r.id = w.value
    CROSS JOIN entity s ON s.id = r.subject CROSS JOIN entity o ON o.id = r.object
"""
_QUOTES = """
SELECT e.relation, m.uid, e.start, e.end, e.extractor, e.basis,
    CAST(substr(b.bytes, e.first_byte % 65536 + 1, e.last_byte - e.first_byte) AS TEXT)
FROM carray(?) w CROSS JOIN evidence e ON e.relation = w.value CROSS JOIN memory m ON m.id = e.memory
    CROSS JOIN body b ON b.id = e.memory * 1048576 + e.first_byte / 65536
WHERE m.deleted_at IS NULL AND m.replaced_by IS NULL
"""


def memories() -> list[NewMemory]:
    """Memories that together state all relations, each between two entities that no other relation joins."""
    chance = random.Random(7)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < RELATIONS:
        one = chance.randrange(HUBS) if chance.random() < 0.05 else chance.randrange(ENTITIES)
        pairs.add((one, chance.randrange(ENTITIES)))
    stated = chance.sample(sorted(pairs), len(pairs))
    return [memory(stated[first : first + PER_MEMORY]) for first in range(0, len(stated), PER_MEMORY)]


def memory(pairs: list[tuple[int, int]]) -> NewMemory:
    text, entities, relations = "", [], []
    for subject, target in pairs:
        start = len(text)
        text += f"Person {subject} knows "
        middle = len(text)
        text += f"Person {target}. "
        names = (f"Person {subject}", start), (f"Person {target}", middle)
        entities += [NewEntity(name=name, type="person", spans=((at, at + len(name)),)) for name, at in names]
        relations.append(
            NewRelation(
                subject=names[0][0], type="knows", object=names[1][0], basis="extracted", start=start, end=len(text) - 1
            )
        )
    extraction = Extraction(extractor="benchmark", entities=tuple(entities), relations=tuple(relations))
    chunk = NewChunk(start=0, end=len(text), heading="", terms=("person", "knows"), vector=None)
    return NewMemory(text=text, metadata={}, chunks=(chunk,), embedder=EMBEDDER, extraction=extraction)


async def build(store: SQLiteStore, made: list[NewMemory]) -> float:
    started = time.perf_counter()
    for first in range(0, len(made), TOGETHER):
        await asyncio.gather(*(store.add("default", [one]) for one in made[first : first + TOGETHER]))
    return time.perf_counter() - started


def connected(file: Path, *, like_ours: bool) -> apsw.Connection:
    """A connection with the driver's defaults, or with our settings that affect the time of a statement."""
    connection = apsw.Connection(str(file))
    if like_ours:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("PRAGMA query_only = 1; PRAGMA cache_size = -16000").fetchall()
    return connection


def bare(connection: apsw.Connection, uid: bytes, limit: int) -> int:
    """The rows that `related` returns, by plain statements."""
    connection.execute("BEGIN")
    frontier = {number for (number,) in connection.execute(_START, (uid, "default"))}
    seen, taken = set(frontier), dict[int, Any]()
    for _ in range(2):
        numbers = array("q", frontier)
        bound = {"frontier": apsw.carray(numbers), "same": apsw.carray(numbers), "limit": limit}
        for row in connection.execute(_AROUND, bound).fetchall():
            taken.setdefault(row[0], row)
        frontier = {end for row in taken.values() for end in row[1:3]} - seen
        seen |= frontier
        if not frontier or len(taken) >= limit:
            break
    numbers = array("q", list(taken)[:limit])
    details = connection.execute(_DETAILS, (apsw.carray(numbers),)).fetchall()
    connection.execute(_QUOTES, (apsw.carray(numbers),)).fetchall()
    connection.execute("COMMIT")
    return len(details)


Seconds = list[tuple[float, float]]  # by the clock, and of the processor
Ask = Callable[[Entity], Awaitable[int]]  # how many relations were found


async def measure(file: Path, entities: list[Entity], ours: Ask, limit: int) -> dict[str, Seconds]:
    """Seconds of each question: ours, and by bare statements on both kinds of connection, in turns."""
    connections = {"bare": connected(file, like_ours=False), "tuned": connected(file, like_ours=True)}
    asked: dict[str, Ask] = {"ours": ours}
    for name, connection in connections.items():
        asked[name] = lambda one, use=connection: asyncio.to_thread(bare, use, bytes.fromhex(one.id), limit)
    spent: dict[str, Seconds] = {name: [] for name in asked}
    for number, entity in enumerate(entities):
        first = number % len(asked)
        turns = [*asked, *asked][first : first + len(asked)]
        counts = {await timed(partial(asked[name], entity), spent[name]) for name in turns}
        if len(counts) != 1:
            sys.exit(f"they find {counts} relations: they do not do the same")
    for connection in connections.values():
        connection.close()
    return spent


async def timed(work: Callable[[], Awaitable[int]], spent: Seconds) -> int:
    started = time.perf_counter(), time.process_time()
    answer = await work()
    spent.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    return answer


def percentiles(seconds: Seconds) -> list[float]:
    """Median and 95th percentile by the clock, then of the processor, in milliseconds."""
    cuts = [statistics.quantiles(column, n=20) for column in zip(*seconds, strict=True)]
    return [cut[index] * 1000 for cut in cuts for index in (9, 18)]


async def main() -> None:
    console = Console(highlight=False, width=130)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    made = memories()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "graph.db"
        store = SQLiteStore(file)
        console.print(f"building {ENTITIES:,} entities and {RELATIONS:,} relations from {len(made):,} memories …")
        seconds = await build(store, made)
        rate = len(made) / seconds
        console.print(
            f"{rate:,.0f} memories/s, {rate * PER_MEMORY:,.0f} relations/s; {await store.graph.counts('default')}"
        )
        console.print(await speed(store, file))
        console.print(await speed_of_tool(store, file))
        console.print(await others(store))
        await store.close()
        console.print(f"{file.stat().st_size / 1e6:.0f} MB on disk")


async def speed(store: SQLiteStore, file: Path) -> Table:
    entities = await some_entities(store)

    def related(limit: int) -> Ask:
        async def ask(entity: Entity) -> int:
            return len((await store.graph.related("default", [entity.id], depth=2, limit=limit)).relations)

        return ask

    return await compared("related of the store, depth 2", file, entities, related)


async def speed_of_tool(store: SQLiteStore, file: Path) -> Table:
    """The tool of the plugin, as a client calls it: arguments checked, words and data made and checked, beside the statements.

    It finds out whether there are more than it shows, so it looks for one more.
    """
    entities = await some_entities(store)
    async with running(zapomni_plugin_graph, name="graph", settings={"store": f"sqlite://{file}"}) as app:

        def get_related(limit: int) -> Ask:
            async def ask(entity: Entity) -> int:
                asked = {"entity": entity.name, "depth": 2, "limit": limit - 1}
                told = (await app.call("get_related", asked))["structuredContent"]
                return int(told["count"]) + told.get("truncated", False)

            return ask

        return await compared("the tool get_related, depth 2", file, entities, get_related, more=1)


async def compared(title: str, file: Path, entities: list[Entity], ours: Callable[[int], Ask], more: int = 0) -> Table:
    table = Table("limit", "ms of", "ours p50", "p95", title=title)
    for column in ("bare p50", "p95", "ratio p50", "p95", "set as ours p50", "p95", "ratio p50", "p95"):
        table.add_column(column)
    await measure(file, entities, ours(LIMITS[0] + more), LIMITS[0] + more)
    for limit in LIMITS:
        spent = await measure(file, entities, ours(limit + more), limit + more)
        for measured, at in (("clock", slice(0, 2)), ("processor", slice(2, 4))):
            one, *others = (percentiles(spent[name])[at] for name in ("ours", "bare", "tuned"))
            figures = [*one]
            for other in others:
                figures += [*other, one[0] / other[0], one[1] / other[1]]
            table.add_row(str(limit), measured, *(f"{figure:.2f}" for figure in figures))
    table.caption = "goal: ratio <= 1.5"
    return table


async def some_entities(store: SQLiteStore) -> list[Entity]:
    chance = random.Random(11)
    return await store.graph.entities(
        "default", [f"Person {chance.randrange(HUBS, ENTITIES)}" for _ in range(QUESTIONS)]
    )


async def others(store: SQLiteStore) -> Table:
    """The medians of other queries of a graph."""
    graph = store.graph
    (hub,) = await graph.entities("default", ["Person 0"])
    questions: dict[str, Callable[[], Awaitable[Any]]] = {
        "related of a hub, depth 2": lambda: graph.related("default", [hub.id], depth=2),
        "find": lambda: graph.find("default", "who knows Person 4711?", 10),
        "counts": lambda: graph.counts("default"),
    }
    table = Table("question", "ms p50", title="Others")
    for question, ask in questions.items():
        spent: Seconds = []
        for _ in range(20):
            await timed(ask, spent)
        table.add_row(question, f"{percentiles(spent)[0]:.2f}")
    return table


if __name__ == "__main__":
    asyncio.run(main())
