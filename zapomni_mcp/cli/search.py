"""`zapomni search`: find what was remembered."""

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import click

from zapomni_mcp.cli.options import shared_options, with_filters
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.formatting import format_kind, headline

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.models import SearchHit, SearchResult

INDENT = "   "


@click.command()
@shared_options()
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True, help="Most memories to show, 1 to 100.")
@with_filters
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Cut the answer to about this size.")
@with_session
def search(
    session: Session,
    query: str,
    limit: int,
    max_tokens: int | None,
    filters: dict[str, Any],
) -> None:
    """Find memories by words and by meaning, in any language."""

    async def work(engine: "MemoryEngine") -> int:
        result = await engine.search_memory(query, limit, filters, max_tokens=max_tokens)
        session.json(result) if session.as_json else _show(session, result)
        return 0

    session.run(work)


def _show(session: Session, result: "SearchResult") -> None:
    session.out.text(headline(result))
    if result.degraded:
        session.out.text(result.degraded)
    for number, hit in enumerate(result.hits, start=1):
        session.out.text("")
        session.out.text(_about(number, hit))
        session.out.text(_wrapped(hit.text))


def _about(number: int, hit: "SearchHit") -> str:
    """The line above a hit's text: score, why, date, where it comes from, and the id, which is to be copied."""
    date = (hit.timestamp or hit.created_at).date().isoformat()
    origin = (format_kind(hit.kind, hit.role, hit.conversation), hit.source, hit.heading, hit.author)
    parts = (f"{hit.similarity_score:.2f}", ", ".join(hit.why), date, *origin, hit.memory_id)
    return f"{number}. " + " · ".join(part for part in parts if part)


def _wrapped(text: str) -> str:
    """The text, its lines kept and the long ones wrapped."""
    wrapper = textwrap.TextWrapper(
        width=shutil.get_terminal_size().columns,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        replace_whitespace=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapper.fill(line) for line in text.strip().splitlines())
