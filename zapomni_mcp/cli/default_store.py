"""Memories in the default store while a variable of other programs, such as FALKORDB_HOST, chooses another store."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zapomni_mcp.config import Config


async def memories_left(config: "Config") -> tuple[str, str] | None:
    """Which memories are not served, and how to move them; None if there are none or the user chose the store by a setting."""
    from zapomni_core.config.shared_variables import SHARED
    from zapomni_core.providers import default_store_file

    variable, file = config.origins["store"].split(",")[0], default_store_file()
    choosing = {one.variables[0] for one in SHARED if one.path == ("store",)}
    if variable not in choosing or not file.exists():
        return None
    workspaces = await _workspaces(file)
    if not workspaces:
        return None
    url = shlex.quote(f"ZAPOMNI_STORE=sqlite://{file}")
    problem = f"{file} holds memories (workspaces: {', '.join(workspaces)}), but {variable} chooses another store"
    fix = f"env {url} zapomni export --workspace {shlex.quote(workspaces[0])} FILE, then zapomni import --workspace NAME FILE"
    return problem, fix


async def _workspaces(file: Path) -> tuple[str, ...]:
    """The workspaces with memories; none if the file cannot be read."""
    from zapomni_db.errors import DatabaseError
    from zapomni_db.sqlite import SQLiteStore

    store = SQLiteStore(file)
    try:
        return (await store.stats("default")).workspaces
    except DatabaseError:
        return ()
    finally:
        await store.close()
