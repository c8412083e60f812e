"""`zapomni stats`: how much there is."""

from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.formatting import format_embedder

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.models import EngineStats


@click.command()
@shared_options()
@with_session
def stats(session: Session) -> None:
    """Count memories, and show where they are kept."""

    async def work(engine: "MemoryEngine") -> int:
        found = await engine.get_stats()
        session.json(found) if session.as_json else session.out.text("\n".join(_lines(found)))
        return 0

    session.run(work)


def _lines(stats: "EngineStats") -> list[str]:
    others = [name for name in stats.workspaces if name != stats.graph_name]
    rows = {
        "workspace": stats.graph_name + (f" (there are also: {', '.join(others)})" if others else ""),
        "memories": f"{stats.total_memories:,}",
        "deleted": f"{stats.deleted_memories:,}",
        "replaced": f"{stats.superseded_memories:,}",
        "chunks": f"{stats.total_chunks:,}",
        "store": f"{stats.store} at {stats.location}, {stats.database_size_mb:.1f} MB",
        "embedder": format_embedder(stats.embedder),
    }
    if stats.jobs:
        rows["jobs"] = f"{stats.jobs.queued:,} queued, {stats.jobs.running:,} running, {stats.jobs.failed:,} failed"
    return [f"{key:<10} {value}" for key, value in rows.items()]
