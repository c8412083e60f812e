"""`zapomni list`: memories one after the other."""

from typing import TYPE_CHECKING, Any, get_args

import click

from zapomni_db.records import Order, State
from zapomni_mcp.cli.options import shared_options, with_filters
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.cli.text import TEXT
from zapomni_mcp.formatting import format_memory

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Page


@click.command("list")
@shared_options()
@with_filters
@click.option(
    "--state", type=click.Choice(get_args(State)), default="live", show_default=True, help="Which memories to list."
)
@click.option(
    "--order",
    type=click.Choice(get_args(Order)),
    default="newest",
    show_default=True,
    help="By date, or in the order in which they were added.",
)
@click.option("--limit", type=int, default=20, show_default=True, help="Most memories to show, 1 to 100.")
@click.option("--after", type=TEXT, metavar="PLACE", help="Go on from here: what the page before ended with.")
@with_session
def list_memories(
    session: Session, *, state: State, order: Order, limit: int, after: str | None, filters: dict[str, Any]
) -> None:
    """List memories, the newest first, one per line.

    How to get the next page goes to standard error.
    """

    async def work(engine: "MemoryEngine") -> int:
        page = await engine.list_memories(filters, state=state, order=order, limit=limit, after=after or "")
        session.json(page._asdict()) if session.as_json else _show(session, page)
        return 0

    session.run(work)


def _show(session: Session, page: "Page") -> None:
    for memory in page.memories:
        session.out.text(one_line(format_memory(memory, session.out.width)))
    if page.after:
        click.echo(f"There are more: run the same command with --after {page.after}", err=True)
    elif not page.memories:
        click.echo("No memories.", err=True)
