"""Variables that other programs use too, such as FALKORDB_HOST. They count where neither the file nor a variable of Zapomni's own
sets the same.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from zapomni_core.config.sources import KeyPath, Leaf, Leaves, dotted

_PORT = "6379"
_GRAPH = "zapomni"
_LAST_PORT = 65535
_NOT_IN_HOST = re.compile(r"[\s/@?#\[\]]")


class Shared(NamedTuple):
    """A setting that variables set: the first one chooses, the others only refine. `value` raises ValueError, which names the
    variable and the rule.
    """

    path: KeyPath
    variables: tuple[str, ...]
    value: Callable[[Mapping[str, str]], str]


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


SHARED = (Shared(("store",), ("FALKORDB_HOST", "FALKORDB_PORT", "GRAPH_NAME"), falkordb_url),)


def shared_leaves(
    leaves: Leaves, variables: Mapping[str, str], problems: list[str], known: Sequence[Shared] = SHARED
) -> tuple[Leaves, dict[str, str]]:
    """The settings that these variables make, and the variables that have no effect, each with the reason."""
    made: Leaves = {}
    unused: dict[str, str] = {}
    for one in known:
        given = [name for name in one.variables if name in variables]
        if one.path in leaves:
            unused |= dict.fromkeys(given, f"{dotted(one.path)} is set (from {leaves[one.path].origin})")
        elif one.variables[0] not in variables:
            unused |= dict.fromkeys(given, f"{one.variables[0]} is not set")
        else:
            try:
                made[one.path] = Leaf(one.value(variables), ", ".join(given))
            except ValueError as error:
                problems.append(str(error))
    return made, unused
