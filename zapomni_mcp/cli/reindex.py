"""`zapomni reindex`: change the embedder."""

from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.options import TEXT, shared_options
from zapomni_mcp.cli.output import Progress
from zapomni_mcp.formatting import format_embedder

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine


@click.command()
@shared_options()
@click.option(
    "--embedder",
    type=TEXT,
    metavar="NAME",
    help="The new embedder; default: the one in the settings, else the current one.",
)
@with_context
def reindex(context: CommandContext, embedder: str | None) -> None:
    """Recompute all vectors of a workspace with another embedder.

    Chunks that an older version of Zapomni analysed are analysed again, too. The old vectors are used until the new ones
    are complete. If it is interrupted, run it again to continue.
    """

    async def work(engine: "MemoryEngine") -> int:
        from zapomni_core.memory.reindex import count_outdated

        before = (await engine.get_stats()).embedder
        outdated = await count_outdated(engine.memories, engine.workspace)
        with Progress() as progress:
            made = await engine.reindex(embedder, _ReindexProgress(progress).show)
        after = (await engine.get_stats()).embedder
        if context.as_json:
            context.json({"before": before, "after": after, "chunks": made, "analysed": outdated})
            return 0
        if outdated:
            context.out.text(f"Analysed again: {outdated:,} chunk{'s' * (outdated != 1)}.")
        context.out.text(f"Embedder: {format_embedder(after)}; {made:,} chunk{'s' * (made != 1)} embedded.")
        _print_follow_ups(engine, embedder, changed=before not in (None, after))
        return 0

    context.run(work)


class _ReindexProgress:
    """Prints first how many chunks there are to embed, then the progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = False

    async def show(self, done: int, total: int) -> None:
        if not self._started:
            self._started = True
            click.echo(_plan(total), err=True)
        await self._progress.show(done, total, f"embedded {done:,} of {total:,} chunks")


def _plan(left: int) -> str:
    if not left:
        return "Every chunk already has a vector by this embedder."
    return f"{left:,} chunk{'s' * (left != 1)} to embed; until then, the old vectors are used."


def _print_follow_ups(engine: "MemoryEngine", embedder: str | None, *, changed: bool) -> None:
    """Print what else has to follow a change of the embedder."""
    if changed:
        click.echo("Running servers switch too, unless their settings name another embedder.", err=True)
    wanted = engine.settings.embedder
    if embedder and wanted not in (None, embedder):
        click.echo(f"The settings still say embedder = '{wanted}'; change it to '{embedder}'.", err=True)
