"""`zapomni history`: what happened to a memory."""

from typing import TYPE_CHECKING

import click

from zapomni_db.errors import MemoryNotFoundError
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.formatting import format_memory

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Memory


@click.command()
@shared_options()
@click.argument("memory_id", metavar="ID")
@with_session
def history(session: Session, memory_id: str) -> None:
    """Show what happened to a memory, when, and by which client or command.

    Deleted and replaced memories have a history too. Below it are the memories that it replaces or that replaced it.
    """

    async def work(engine: "MemoryEngine") -> int:
        memory = await engine.get_memory(memory_id)
        events = await engine.history(memory.id)
        if session.as_json:
            document = {"memory_id": memory.id, "events": [event._asdict() for event in events]}
            session.json(document | {"replaces": memory.replaces, "replaced_by": memory.replaced_by})
            return 0
        for event in events:
            by = f" by {one_line(event.by)}" if event.by else ""
            session.out.text(f"{event.at:%Y-%m-%d %H:%M:%S} UTC {event.what}{by}")
        for line in await _versions(engine, memory, session.out.width):
            session.out.text(one_line(line))
        return 0

    session.run(work)


async def _versions(engine: "MemoryEngine", memory: "Memory", width: int | None) -> list[str]:
    """The memories that this one replaces, and the one that replaced it."""
    others = [("replaces", memory_id) for memory_id in memory.replaces]
    if memory.replaced_by:
        others.append(("replaced by", memory.replaced_by))
    lines = []
    for relation, memory_id in others:
        try:
            told = format_memory(await engine.get_memory(memory_id), width and width - len(relation) - 1)
        except MemoryNotFoundError:
            told = f"{memory_id} · purged"
        lines.append(f"{relation} {told}")
    return lines
