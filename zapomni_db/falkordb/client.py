"""The connection to a FalkorDB server: statements with time limits, and errors that say what to do."""

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self
from urllib.parse import quote
from weakref import WeakKeyDictionary

import redis.exceptions as driver
from falkordb.asyncio.graph import AsyncGraph  # type: ignore[import-untyped]
from redis.asyncio import BlockingConnectionPool, Redis, SSLConnection
from redis.asyncio.connection import Connection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from zapomni_db.addresses import parse_falkordb_url
from zapomni_db.errors import DatabaseError, StoreFullError, StoreUnavailableError
from zapomni_db.falkordb.cypher import restored, statement

log = logging.getLogger("zapomni.falkordb")

DEFAULT_PORT = 6379
DEFAULT_GRAPH = "zapomni"
CONNECT_SECONDS = 5.0
STATEMENT_SECONDS = 60.0
CONNECTIONS = 16
OLDEST_MODULE = (4, 16, 0)

Rows = list[list[Any]]


class ConflictError(DatabaseError):
    """A statement would have broken a unique constraint; nothing was written."""


class ServerInfo(NamedTuple):
    """Versions and memory of a server. `warnings` are sentences about acknowledged writes that it may lose."""

    redis_version: str
    falkordb_version: str
    used_memory: int
    warnings: tuple[str, ...]


class FalkorDBClient:
    """A graph of a FalkorDB server. Connects on first use; every call has a time limit.

    Event loops of several threads may share a client; each has its own connections.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = DEFAULT_PORT,
        graph_name: str = DEFAULT_GRAPH,
        *,
        username: str | None = None,
        password: str | None = None,
        tls: bool = False,
        connect_seconds: float = CONNECT_SECONDS,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self.host = host
        self.port = port
        self.graph_name = graph_name
        self.statement_seconds = statement_seconds
        self._options: dict[str, Any] = {
            "host": host,
            "port": port,
            "username": username,
            "password": password,
            "connection_class": SSLConnection if tls else Connection,
            "socket_connect_timeout": connect_seconds,
            "socket_timeout": statement_seconds,
        }
        self._tls = tls
        self._drivers: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()
        self._is_prepared = False
        self._closed = False

    @classmethod
    def from_url(cls, url: str) -> Self:
        """A client for `falkordb://[user:password@]host[:port][/graph]`, or `falkordbs://`."""
        there = parse_falkordb_url(url)
        return cls(there.host, there.port, there.graph, username=there.username, password=there.password, tls=there.tls)

    @property
    def location(self) -> str:
        """The URL without the password."""
        return f"{'falkordbs' if self._tls else 'falkordb'}://{self._address}/{quote(self.graph_name, safe='')}"

    async def query(self, cypher: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement that writes, and return its rows. It is sent once.

        Where the connection is lost meanwhile, it may have been carried out or not, as a whole.
        """
        await self.prepare()
        return await self._run(cypher, parameters or {}, writes=True)

    async def read(self, cypher: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement that only reads, and return its rows; once more where the connection is lost meanwhile."""
        await self.prepare()
        try:
            return await self._run(cypher, parameters or {}, writes=False)
        except LostError:
            return await self._run(cypher, parameters or {}, writes=False)

    async def prepare(self) -> None:
        """Check the server and the graph's schema, once; StoreUnavailableError says what is wrong with them."""
        if self._closed:
            raise StoreUnavailableError(f"The store {self.location} is closed.")
        if not self._is_prepared:
            from zapomni_db.falkordb import schema

            server = await self.info()
            await schema.prepare(self)
            self._is_prepared = True
            for problem in server.warnings:
                log.warning("store_may_lose_memories", extra={"problem": problem})

    async def info(self) -> ServerInfo:
        """The server's versions, memory and warnings; StoreUnavailableError if it is not a FalkorDB, or too old."""
        about = await self.command("INFO")
        version = await self._module_version(about)
        if version < OLDEST_MODULE:
            raise StoreUnavailableError(
                f"The FalkorDB at {self._address} is version {_dotted(version)}; at least {_dotted(OLDEST_MODULE)} is needed."
            )
        warnings = _warnings(about, await self._fsync())
        return ServerInfo(
            str(about.get("redis_version", "")), _dotted(version), int(about.get("used_memory", 0)), warnings
        )

    async def _fsync(self) -> str:
        """When the server writes through to its disk; empty where it does not tell, as some providers' do not."""
        try:
            return str((await self.command("CONFIG", "GET", "appendfsync"))[1])
        except (DatabaseError, IndexError):
            return ""

    async def _module_version(self, about: Mapping[str, Any]) -> tuple[int, ...]:
        modules = about.get("modules") or []
        found = next((int(one["ver"]) for one in modules if one.get("name") == "graph"), None)
        if found is None:
            raise StoreUnavailableError(
                f"The server at {self._address} is a Redis without the FalkorDB module. Start FalkorDB, or correct the URL."
            )
        return found // 10_000, found // 100 % 100, found % 100

    async def command(self, *words: str) -> Any:
        """Run a command of the server that is not about the graph."""
        with self._translated(writes=False):
            return await self._driver().execute_command(*words)  # type: ignore[no-untyped-call]

    async def run_unprepared(self, cypher: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement that prepares the graph itself."""
        return await self._run(cypher, parameters or {}, writes=True)

    async def close(self) -> None:
        """Close the connections of this event loop. Closing again does nothing."""
        self._closed = True
        mine = self._drivers.pop(asyncio.get_running_loop(), None)
        if mine:
            await mine.aclose()
            await mine.connection_pool.disconnect()

    async def _run(self, cypher: str, parameters: Mapping[str, Any], *, writes: bool) -> Rows:
        text = statement(cypher, parameters)
        graph = AsyncGraph(self._driver(), self.graph_name)
        with self._translated(writes=writes):
            answer = await (graph.query(text) if writes else graph.ro_query(text))
        return [[restored(value) for value in row] for row in answer.result_set]

    def _driver(self) -> Redis:
        loop = asyncio.get_running_loop()
        if loop not in self._drivers:
            pool = BlockingConnectionPool(
                **self._options,
                decode_responses=True,
                protocol=2,
                max_connections=CONNECTIONS,
                timeout=self.statement_seconds,
                retry=Retry(NoBackoff(), 0),  # a write must not be sent twice without a word
                retry_on_error=[],
            )
            self._drivers[loop] = Redis(connection_pool=pool)
        return self._drivers[loop]

    @property
    def _address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @contextmanager
    def _translated(self, *, writes: bool) -> Iterator[None]:
        """Raise the store's errors instead of the driver's."""
        try:
            yield
        except (driver.RedisError, OSError) as error:
            raise self._translation(error, writes=writes) from error

    def _translation(self, error: Exception, *, writes: bool) -> DatabaseError:
        text = str(error)
        for one in _TRANSLATIONS:
            if isinstance(error, one.types) and re.search(one.pattern, text):
                unknown = _UNKNOWN if writes and one.is_unknown else ""
                sentence = one.sentence.format(server=f"FalkorDB at {self._address}", seconds=self.statement_seconds)
                return one.error(sentence + unknown)
        return DatabaseError("FalkorDB refused a statement.")


class LostError(StoreUnavailableError):
    """The server cannot be reached, or the connection was lost."""


class _Translation(NamedTuple):
    """The translation of a driver's error. `is_unknown`: a write may have been carried out nevertheless."""

    types: type[Exception] | tuple[type[Exception], ...]
    pattern: str
    error: type[DatabaseError]
    sentence: str
    is_unknown: bool = False


_UNKNOWN = " What was being written may have been stored or not; repeating it is harmless."
_TRANSLATIONS = (
    _Translation(
        (driver.AuthenticationError, driver.ResponseError),
        "^(WRONGPASS|NOAUTH|invalid username|AUTH |Authentication required)|without any password",
        StoreUnavailableError,
        "{server} refused the user name or password. Correct them in the store's URL.",
    ),
    _Translation(
        driver.NoPermissionError,
        "",
        StoreUnavailableError,
        "The user of {server} lacks permissions: it needs GRAPH.QUERY, GRAPH.RO_QUERY and GRAPH.CONSTRAINT on the graph, and INFO.",
    ),
    _Translation(
        driver.BusyLoadingError, "", StoreUnavailableError, "{server} is still loading its data. Try again soon."
    ),
    _Translation(
        (driver.TimeoutError, TimeoutError),
        "(?i)connect",
        StoreUnavailableError,
        "Cannot reach {server}: it does not answer. Check the host and the port.",
    ),
    _Translation(
        (driver.TimeoutError, TimeoutError),
        "",
        StoreUnavailableError,
        "{server} did not answer within {seconds:g} seconds.",
        is_unknown=True,
    ),
    _Translation(
        driver.MaxConnectionsError, "", StoreUnavailableError, "All connections to {server} are in use. Try again."
    ),
    _Translation(
        (driver.ConnectionError, OSError),
        "(?i)connecting to|getaddrinfo|refused",
        LostError,
        "Cannot reach {server}. Check that it runs, and its host and port.",
    ),
    _Translation(
        (driver.ConnectionError, OSError), "", LostError, "The connection to {server} was lost.", is_unknown=True
    ),
    _Translation(driver.ReadOnlyError, "", StoreUnavailableError, "{server} is a replica and cannot be written to."),
    _Translation(
        driver.ResponseError,
        "^(OOM|MISCONF)|command not allowed when used memory",
        StoreFullError,
        "{server} refuses to write, because its memory or its disk is full. Nothing was written.",
    ),
    _Translation(driver.ResponseError, "constraint violation", ConflictError, "{server} has such a node already."),
    _Translation(
        driver.ResponseError, "unknown command .?GRAPH", StoreUnavailableError, "{server} is a Redis without FalkorDB."
    ),
    _Translation(
        driver.ResponseError, "timed out", StoreUnavailableError, "{server} stopped a statement that took too long."
    ),
)
"""The first one that fits counts."""


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _warnings(about: Mapping[str, Any], fsync: str) -> tuple[str, ...]:
    """The reasons for which the server may lose acknowledged writes, a sentence each."""
    if not int(about.get("aof_enabled", 0)):
        return (
            (
                "FalkorDB runs without an append-only file, so stored memories may be lost when it stops."
                " Start it with --appendonly yes --appendfsync always."
            ),
        )
    if about.get("aof_last_write_status", "ok") != "ok":
        return ("FalkorDB cannot write its append-only file. Free space on its disk.",)
    if fsync in ("everysec", "no"):
        lost = "in the last second" if fsync == "everysec" else "lately"
        return (
            (
                f"FalkorDB runs with appendfsync {fsync}, so memories stored {lost} may be lost when the machine fails."
                " Start it with --appendfsync always."
            ),
        )
    return ()
