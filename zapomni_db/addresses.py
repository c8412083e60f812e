"""URLs of stores that are servers."""

from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

FALKORDB_SCHEMES = ("falkordb", "falkordbs")
_PORT = 6379
_GRAPH = "zapomni"
_SHAPE = "falkordb://[user:password@]host[:port][/graph]"


class FalkorDBAddress(NamedTuple):
    """The address of a graph: `falkordb://[user:password@]host[:port][/graph]`, or `falkordbs://` for TLS."""

    host: str
    port: int = _PORT
    graph: str = _GRAPH
    username: str | None = None
    password: str | None = None
    tls: bool = False


def parse_falkordb_url(url: str) -> FalkorDBAddress:
    """The address that a URL names; ValueError says what is wrong, without the password."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:  # its message may hold the password
        raise ValueError(f"must be written {_SHAPE}") from None
    if not host:
        raise ValueError(f"must name a host: {_SHAPE}")
    graph = parts.path.removeprefix("/")
    if "/" in graph or parts.query or parts.fragment:
        raise ValueError(f"must be written {_SHAPE}; in a part of it, write / ? # @ as %2F %3F %23 %40")
    return FalkorDBAddress(
        host,
        _port(parts),
        unquote(graph) or _GRAPH,
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        parts.scheme == "falkordbs",
    )


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("must have a port from 1 to 65535") from None
    return port or _PORT
