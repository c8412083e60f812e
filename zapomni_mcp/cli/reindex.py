"""`zapomni reindex`: vectors by another embedder."""

from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.progress import Progress
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.cli.text import TEXT
from zapomni_mcp.formatting import format_embedder

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine


@click.command()
@shared_options()
@click.option(
    "--embedder",
    type=TEXT,
    metavar="NAME",
    help="Who makes the vectors; the one in the settings, else the present one.",
)
@with_session
def reindex(session: Session, embedder: str | None) -> None:
    """Make all vectors of a workspace anew, by another embedder.

    What an older version of Zapomni analysed is analysed again, too.
    The old ones serve until the new ones are complete. Interrupt it whenever you like: the next run goes on from there.
    """

    async def work(engine: "MemoryEngine") -> int:
        from zapomni_core.reindexing import count_outdated

        before = (await engine.get_stats()).embedder
        outdated = await count_outdated(engine.memories, engine.workspace)
        with Progress() as progress:
            made = await engine.reindex(embedder, _Teller(progress).show)
        after = (await engine.get_stats()).embedder
        if session.as_json:
            session.json({"before": before, "after": after, "chunks": made, "analysed": outdated})
            return 0
        if outdated:
            session.out.text(f"Analysed again: {outdated:,} chunk{'s' * (outdated != 1)}.")
        session.out.text(f"Embedder: {format_embedder(after)}; {made:,} chunk{'s' * (made != 1)} embedded now.")
        _tell_of_others(engine, embedder, changed=before not in (None, after))
        return 0

    session.run(work)


class _Teller:
    """Says first how much there is to do, then how far it is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._begun = False

    async def show(self, done: int, total: int) -> None:
        if not self._begun:
            self._begun = True
            click.echo(_plan(total), err=True)
        await self._progress.show(done, total, f"embedded {done:,} of {total:,} chunks")


def _plan(left: int) -> str:
    if not left:
        return "Every chunk has a vector by this embedder already."
    return f"{left:,} chunk{'s' * (left != 1)} to embed; until that is done, the old vectors serve."


def _tell_of_others(engine: "MemoryEngine", embedder: str | None, *, changed: bool) -> None:
    """What else has to follow a change of the embedder."""
    if changed:
        click.echo("Servers that are running follow, unless their settings name another embedder.", err=True)
    wanted = engine.settings.embedder
    if embedder and wanted not in (None, embedder):
        click.echo(f"The settings still say embedder = '{wanted}': change that to '{embedder}'.", err=True)
