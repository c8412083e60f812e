"""`zapomni reindex`: change the embedder."""

from typing import TYPE_CHECKING

import click

from zapomni_core.errors import EmbedderUnavailableError
from zapomni_core.text.plural import counted
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.options import TEXT, shared_options
from zapomni_mcp.cli.output import Progress
from zapomni_mcp.formatting import format_embedder

if TYPE_CHECKING:
    from zapomni_core.embedding import OnBatch
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.memory.reindex import Plan

SECONDS_IN_WORDS = 100


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
            try:
                made = await engine.reindex(embedder, _shown_by(progress), _show_plan)
            except EmbedderUnavailableError as error:
                raise click.ClickException(
                    f"{error} What is embedded is kept: run the same command to go on."
                ) from None
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


def _shown_by(progress: Progress) -> "OnBatch":
    async def show(done: int, total: int) -> None:
        await progress.show(done, total, f"embedded {done:,} of {total:,} chunks")

    return show


def _show_plan(plan: "Plan") -> None:
    """Print what there is to do, before it starts."""
    if plan.chunks:
        cost = f"about {counted(plan.tokens, 'token')} and {_duration(plan.seconds)}"
        click.echo(f"{counted(plan.chunks, 'chunk')} to embed, {cost}; until then, the old vectors are used.", err=True)
    else:
        click.echo("Every chunk already has a vector by this embedder.", err=True)


def _duration(seconds: float) -> str:
    if seconds < SECONDS_IN_WORDS:
        return counted(max(1, round(seconds)), "second")
    return counted(round(seconds / 60), "minute")


def _print_follow_ups(engine: "MemoryEngine", embedder: str | None, *, changed: bool) -> None:
    """Print what else has to follow a change of the embedder."""
    if changed:
        click.echo("Running servers switch too, unless their settings name another embedder.", err=True)
    wanted = engine.settings.embedder
    if embedder and wanted not in (None, embedder):
        click.echo(f"The settings still say embedder = '{wanted}'; change it to '{embedder}'.", err=True)
