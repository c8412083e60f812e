"""Optimistic transactions: a write takes effect only if no other process wrote to the workspace since it began to read.

FalkorDB's unit is the statement, so a transaction collects its writes and sends them as one, which does nothing unless the
workspace still has the version that was read before. Otherwise the work is done again from the start. So a write that is sent
twice is harmless, too.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from zapomni_db import values
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.falkordb.client import ConflictError, FalkorDBClient, Rows
from zapomni_db.falkordb.cypher import name_of
from zapomni_db.records import EmbedderIdentity, VectorWeight

PATIENCE = 20.0
"""For how many seconds a write is tried again while others write."""
_PAUSE = 0.002
_LONGEST_PAUSE = 0.1

T = TypeVar("T")


@dataclass(slots=True)
class Workspace:
    """The node of a workspace: its counters, and whose vectors its chunks have.

    Chunks have a vector in a property `v0`, `v1`... for each embedder; `embedders` names the embedder of each number,
    `weights` has its weight, and `serving` is the number of the one that serves, -1 without any. `version` counts the writes,
    `kept` all memories; `memories`, `chunks` and `length` (in terms) are those of live memories; `oldest` and `newest` bound
    the seconds of all memories. `entities`, `mentions`, `facts` and `together` (co-mentions) are those of live memories.
    """

    version: int = 0
    memory_seq: int = 0
    chunk_seq: int = 0
    event_seq: int = 0
    fact_seq: int = 0
    together_seq: int = 0
    session_seq: int = 0
    kept: int = 0
    memories: int = 0
    chunks: int = 0
    length: int = 0
    oldest: int = 0
    newest: int = 0
    entities: int = 0
    mentions: int = 0
    facts: int = 0
    together: int = 0
    serving: int = -1
    embedders: list[EmbedderIdentity | None] = field(default_factory=list)
    weights: list[VectorWeight | None] = field(default_factory=list)

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder whose vectors serve."""
        return self.embedders[self.serving] if self.serving >= 0 else None

    @property
    def vector(self) -> str:
        """The property of chunks that holds the vectors that serve."""
        return vector_property(self.serving)

    def register(self, identity: EmbedderIdentity) -> int:
        """The number of an embedder, a new one if need be; numbers that are free are given again."""
        if identity not in self.embedders:
            free = self.embedders.index(None) if None in self.embedders else len(self.embedders)
            self.embedders[free : free + 1] = [identity]
            self.weights[free : free + 1] = [None]
        return self.embedders.index(identity)

    def properties(self) -> dict[str, Any]:
        """The properties of the node."""
        fields = asdict(self)
        return fields | {name: json.dumps([one and list(one.values()) for one in fields[name]]) for name in _LISTS}


_FIELDS = tuple(one.name for one in fields(Workspace))
_LISTS = {"embedders": EmbedderIdentity, "weights": VectorWeight}  # kept as JSON
_READ = f"MATCH (w:Workspace {{id: $ws}}) RETURN {', '.join('w.' + name for name in _FIELDS)}"
_BEGIN = """
MERGE (w:Workspace {id: $ws}) ON CREATE SET w.name = $name, w.version = 0
WITH w WHERE w.version = $version SET w += $workspace WITH w
"""


def vector_property(number: int) -> str:
    """The property of chunks that holds their vector by the embedder of this number."""
    return f"v{max(number, 0)}"


def workspace_id(name: str) -> str:
    """The `ws` of every node of a workspace."""
    return name_of("workspace", name)


async def read_workspace(client: FalkorDBClient, ws: str) -> Workspace:
    """The node of a workspace, or a new one."""
    found = await client.read(_READ, {"ws": ws})
    if not found:
        return Workspace()
    fields = dict(zip(_FIELDS, found[0], strict=True))
    for name, kind in _LISTS.items():
        fields[name] = [one and kind(*one) for one in json.loads(fields[name])]
    return Workspace(**fields)


class Transaction:
    """A write to one workspace that has begun."""

    def __init__(self, client: FalkorDBClient, name: str, workspace: Workspace) -> None:
        self.name = name
        self.ws = workspace_id(name)
        self.workspace = workspace
        self.now = time.time_ns() // 1000
        self.state: dict[str, Any] = {}
        """State of the store's parts for the duration of the transaction."""
        self.before_commit: list[Callable[[], Awaitable[None]]] = []
        """Hooks of those parts that write at the end."""
        self.client = client
        self._before = workspace.version
        self._writes: dict[str, list[Mapping[str, Any]]] = {}
        self._is_changed = False

    async def read(self, cypher: str, **parameters: Any) -> Rows:
        """Rows as they were before this transaction; `$ws` is the workspace."""
        return await self.client.read(cypher, {"ws": self.ws, **parameters})

    def write(self, body: str, row: Mapping[str, Any]) -> None:
        """Run a statement for a row, which it calls `r`; `w` is the workspace's node.

        Statements run in the order in which they first came, each for all of its rows, and see what those before did.
        """
        self._writes.setdefault(body, []).append(row)

    def touch(self) -> None:
        """Write the workspace's node though nothing else is written."""
        self._is_changed = True

    async def is_outdated(self) -> bool:
        """Whether another process wrote to the workspace since it began, so that its reads may be inconsistent."""
        return (await read_workspace(self.client, self.ws)).version != self._before

    async def commit(self) -> bool:
        """Write everything; False, and nothing is written, where the workspace changed meanwhile."""
        for write_rest in self.before_commit:
            await write_rest()
        if not (self._writes or self._is_changed):
            return True
        self.workspace.version = self._before + 1
        parts = [f"CALL {{ WITH w UNWIND $p{number} AS r {body} }}" for number, body in enumerate(self._writes)]
        parameters = {f"p{number}": rows for number, rows in enumerate(self._writes.values())}
        statement = f"{_BEGIN} {' '.join(parts)} RETURN 1"
        given = {"ws": self.ws, "name": self.name, "version": self._before, "workspace": self.workspace.properties()}
        try:
            return bool(await self.client.query(statement, given | parameters))
        except ConflictError:
            return False


class Transactions:
    """Runs transactions, one after the other within a process, and again where another process was faster."""

    def __init__(self, client: FalkorDBClient) -> None:
        self._client = client
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def run(self, name: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Do some work in a transaction, and return its answer when it is written.

        The work may be done several times, and must have no effect but through its transaction.
        """
        values.check_text("workspace", name)
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        end = time.monotonic() + PATIENCE
        async with lock:
            pause = _PAUSE
            while True:
                transaction = Transaction(self._client, name, await read_workspace(self._client, workspace_id(name)))
                try:
                    answer = await work(transaction)
                    if await transaction.commit():
                        return answer
                except StoreUnavailableError:
                    raise
                except Exception:
                    if not await transaction.is_outdated():
                        raise
                if time.monotonic() > end:
                    raise StoreUnavailableError(
                        f"Others have been writing to the workspace for {PATIENCE:g} seconds. Try again."
                    )
                await asyncio.sleep(pause * random.random())  # noqa: S311 - no secret
                pause = min(2 * pause, _LONGEST_PAUSE)
