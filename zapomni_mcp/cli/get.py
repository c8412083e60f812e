"""`zapomni get`: a whole memory."""

import json
from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.formatting import format_kind

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Memory


@click.command()
@shared_options()
@click.argument("memory_id", metavar="ID")
@with_session
def get(session: Session, memory_id: str) -> None:
    """Print a whole memory by its ID, deleted and replaced ones too.

    Its text goes to standard output, what is known of it to standard error.
    """

    async def work(engine: "MemoryEngine") -> int:
        memory = await engine.get_memory(memory_id)
        if session.as_json:
            session.json(memory)
        else:
            for line in _about(memory):
                click.echo(one_line(line), err=True)
            session.out.whole(memory.text)
        return 0

    session.run(work)


def _about(memory: "Memory") -> list[str]:
    lines = [f"id: {memory.id}", f"stored: {memory.created_at:%Y-%m-%d %H:%M:%S} UTC"]
    if what := format_kind(memory.kind, memory.role, memory.conversation):
        lines.append(f"kind: {what}")
    lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in memory.metadata.items()]
    if memory.deleted_at:
        lines.append(f"deleted: {memory.deleted_at:%Y-%m-%d %H:%M:%S} UTC (zapomni restore brings it back)")
    if memory.replaces:
        lines.append(f"replaces: {', '.join(memory.replaces)}")
    if memory.replaced_by:
        lines.append(f"replaced by: {memory.replaced_by}")
    return lines
