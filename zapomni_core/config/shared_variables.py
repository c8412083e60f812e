"""Variables that other programs use too, such as FALKORDB_HOST. They count where neither the file nor a variable of Zapomni's own
sets the same.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from zapomni_core.config.sources import KeyPath, Leaf, Leaves, dotted

_PORT = "6379"
_OLLAMA_PORT = "11434"
_GRAPH = "zapomni"
_LAST_PORT = 65535
_NOT_IN_HOST = re.compile(r"[\s/@?#\[\]]")


class Shared(NamedTuple):
    """A setting that variables set: the first one chooses, the others only refine. `value` raises ValueError, which names the
    variable and the rule. Those of an `embedder` count only where it is used.
    """

    path: KeyPath
    variables: tuple[str, ...]
    value: Callable[[Mapping[str, str]], str]
    embedder: str = ""


def falkordb_url(variables: Mapping[str, str]) -> str:
    """The URL of a FalkorDB without a password."""
    host, port = variables["FALKORDB_HOST"], variables.get("FALKORDB_PORT", _PORT)
    is_ipv6 = host.count(":") > 1
    if _NOT_IN_HOST.search(host) or (":" in host and not is_ipv6):
        raise ValueError(
            "FALKORDB_HOST must be the name or the address of a host, without a port; "
            "for a password or TLS set ZAPOMNI_STORE instead: falkordb://user:password@host:port/graph"
        )
    if not (re.fullmatch(r"[0-9]{1,5}", port) and 1 <= int(port) <= _LAST_PORT):
        raise ValueError(f"FALKORDB_PORT must be a number from 1 to {_LAST_PORT}")
    graph = quote(variables.get("GRAPH_NAME", _GRAPH), safe="")
    return f"falkordb://{f'[{host}]' if is_ipv6 else host}:{int(port)}/{graph}"


def ollama_url(host: str) -> str:
    """The URL of an Ollama, of which scheme and port may be left out, as its own programs allow. 0.0.0.0 is where it listens."""
    scheme, mark, rest = host.strip().strip("\"'").rpartition("://")
    address, slash, path = rest.partition("/")
    if address.count(":") > 1 and not address.startswith("["):
        address = f"[{address}]"
    name, port = re.fullmatch(r"(\[.*\]|[^:]*)(?::(.*))?", address, re.DOTALL).groups()  # type: ignore[union-attr]
    usual = "" if mark else _OLLAMA_PORT
    reached = "127.0.0.1" if name in ("", "0.0.0.0", "[::]") else name  # noqa: S104 (a name to replace)
    return f"{scheme or 'http'}://{reached}{f':{port or usual}' if port or usual else ''}{slash}{path}"


SHARED = (
    Shared(("store",), ("FALKORDB_HOST", "FALKORDB_PORT", "GRAPH_NAME"), falkordb_url),
    Shared(
        ("embedding", "ollama", "base_url"), ("OLLAMA_HOST",), lambda found: ollama_url(found["OLLAMA_HOST"]), "ollama"
    ),
    Shared(("embedding", "ollama", "model"), ("EMBEDDING_MODEL",), lambda found: found["EMBEDDING_MODEL"], "ollama"),
)


def shared_leaves(
    leaves: Leaves, variables: Mapping[str, str], problems: list[str], known: Sequence[Shared] = SHARED
) -> tuple[Leaves, dict[str, str]]:
    """The settings that these variables make, and the variables that have no effect, each with the reason."""
    made: Leaves = {}
    unused: dict[str, str] = {}
    for one in known:
        given = [name for name in one.variables if name in variables]
        chosen = leaves.get(("embedder",))
        if one.embedder and chosen and chosen.value != one.embedder:
            unused |= dict.fromkeys(given, f"the embedder is '{chosen.value}' (from {chosen.origin})")
        elif one.path in leaves:
            unused |= dict.fromkeys(given, f"{dotted(one.path)} is set (from {leaves[one.path].origin})")
        elif one.variables[0] not in variables:
            unused |= dict.fromkeys(given, f"{one.variables[0]} is not set")
        else:
            try:
                made[one.path] = Leaf(one.value(variables), ", ".join(given))
            except ValueError as error:
                problems.append(str(error))
            if one.embedder and not chosen:
                reason = f"embedder is not set; only workspaces that '{one.embedder}' has embedded use it"
                unused |= dict.fromkeys(given, reason)
    return made, unused
