"""`zapomni search`, `list`, `get`, `history` and `stats`: look up memories."""

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Any, get_args

import click

from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.records import Order, State
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.options import TEXT, shared_options, with_filters
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.formatting import format_embedder, format_kind, format_memory, headline

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.models import EngineStats, SearchHit, SearchResult
    from zapomni_db.records import Memory, Page

INDENT = "   "


@click.command()
@shared_options()
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True, help="Most memories to show, 1 to 100.")
@with_filters
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Cut the answer to about this size.")
@with_context
def search(
    context: CommandContext,
    query: str,
    limit: int,
    max_tokens: int | None,
    filters: dict[str, Any],
) -> None:
    """Find memories by words and by meaning, in any language."""

    async def work(engine: "MemoryEngine") -> int:
        result = await engine.search_memory(query, limit, filters, max_tokens=max_tokens)
        context.json(result) if context.as_json else _show_hits(context, result)
        return 0

    context.run(work)


def _show_hits(context: CommandContext, result: "SearchResult") -> None:
    context.out.text(headline(result))
    if result.degraded:
        context.out.text(result.degraded)
    for number, hit in enumerate(result.hits, start=1):
        context.out.text("")
        context.out.text(_hit_line(number, hit))
        context.out.text(_wrapped(hit.text))


def _hit_line(number: int, hit: "SearchHit") -> str:
    """The line above a hit's text: score, why, date, origin and ID."""
    date = (hit.timestamp or hit.created_at).date().isoformat()
    origin = (format_kind(hit.kind, hit.role, hit.conversation), hit.source, hit.heading, hit.author)
    parts = (f"{hit.similarity_score:.2f}", ", ".join(hit.why), date, *origin, hit.memory_id)
    return f"{number}. " + " · ".join(part for part in parts if part)


def _wrapped(text: str) -> str:
    """The text with its line breaks kept and long lines wrapped."""
    wrapper = textwrap.TextWrapper(
        width=shutil.get_terminal_size().columns,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        replace_whitespace=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapper.fill(line) for line in text.strip().splitlines())


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
@click.option("--after", type=TEXT, metavar="PLACE", help="Continue after the page that ended with this place.")
@with_context
def list_memories(
    context: CommandContext, *, state: State, order: Order, limit: int, after: str | None, filters: dict[str, Any]
) -> None:
    """List memories, the newest first, one per line.

    How to get the next page is printed on standard error.
    """

    async def work(engine: "MemoryEngine") -> int:
        page = await engine.list_memories(filters, state=state, order=order, limit=limit, after=after or "")
        context.json(page._asdict()) if context.as_json else _show_page(context, page)
        return 0

    context.run(work)


def _show_page(context: CommandContext, page: "Page") -> None:
    for memory in page.memories:
        context.out.text(one_line(format_memory(memory, context.out.width)))
    if page.after:
        click.echo(f"There are more: run the same command with --after {page.after}", err=True)
    elif not page.memories:
        click.echo("No memories.", err=True)


@click.command()
@shared_options()
@click.argument("memory_id", metavar="ID")
@with_context
def get(context: CommandContext, memory_id: str) -> None:
    """Print a whole memory by its ID, even a deleted or replaced one.

    The text goes to standard output, its metadata to standard error.
    """

    async def work(engine: "MemoryEngine") -> int:
        memory = await engine.get_memory(memory_id)
        if context.as_json:
            context.json(memory)
        else:
            for line in _details(memory):
                click.echo(one_line(line), err=True)
            context.out.exact(memory.text)
        return 0

    context.run(work)


def _details(memory: "Memory") -> list[str]:
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


@click.command()
@shared_options()
@click.argument("memory_id", metavar="ID")
@with_context
def history(context: CommandContext, memory_id: str) -> None:
    """Show what happened to a memory, when, and by which client or command.

    Deleted and replaced memories have a history too. Below it are the memories that it replaces or that replaced it.
    """

    async def work(engine: "MemoryEngine") -> int:
        memory = await engine.get_memory(memory_id)
        events = await engine.history(memory.id)
        if context.as_json:
            document = {"memory_id": memory.id, "events": [event._asdict() for event in events]}
            context.json(document | {"replaces": memory.replaces, "replaced_by": memory.replaced_by})
            return 0
        for event in events:
            by = f" by {one_line(event.by)}" if event.by else ""
            context.out.text(f"{event.at:%Y-%m-%d %H:%M:%S} UTC {event.what}{by}")
        for line in await _versions(engine, memory, context.out.width):
            context.out.text(one_line(line))
        return 0

    context.run(work)


async def _versions(engine: "MemoryEngine", memory: "Memory", width: int | None) -> list[str]:
    """The memories that this one replaces, and the one that replaced it."""
    others = [("replaces", memory_id) for memory_id in memory.replaces]
    if memory.replaced_by:
        others.append(("replaced by", memory.replaced_by))
    lines = []
    for relation, memory_id in others:
        try:
            line = format_memory(await engine.get_memory(memory_id), width and width - len(relation) - 1)
        except MemoryNotFoundError:
            line = f"{memory_id} · purged"
        lines.append(f"{relation} {line}")
    return lines


@click.command()
@shared_options()
@with_context
def stats(context: CommandContext) -> None:
    """Count memories, and show where they are stored."""

    async def work(engine: "MemoryEngine") -> int:
        found = await engine.get_stats()
        context.json(found) if context.as_json else context.out.text("\n".join(_stats_lines(found)))
        return 0

    context.run(work)


def _stats_lines(stats: "EngineStats") -> list[str]:
    others = [name for name in stats.workspaces if name != stats.graph_name]
    rows = {
        "workspace": stats.graph_name + (f" (others: {', '.join(others)})" if others else ""),
        "memories": f"{stats.total_memories:,}",
        "deleted": f"{stats.deleted_memories:,}",
        "replaced": f"{stats.superseded_memories:,}",
        "chunks": f"{stats.total_chunks:,}",
        "store": f"{stats.store} at {stats.location}, {stats.database_size_mb:.1f} MB",
        "embedder": format_embedder(stats.embedder),
    }
    if stats.jobs:
        rows["jobs"] = f"{stats.jobs.queued:,} queued, {stats.jobs.running:,} running, {stats.jobs.failed:,} failed"
    if stats.store_warnings:
        rows["warning"] = " ".join(stats.store_warnings)
    return [f"{key:<10} {value}" for key, value in rows.items()]
