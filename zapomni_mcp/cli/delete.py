"""`zapomni delete`, `restore` and `purge`."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from zapomni_db.errors import MemoryNotFoundError
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import one_line

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_db.records import Memory

MAX_DAYS = 36_500
MAX_SHOWN = 20


@click.command()
@shared_options()
@click.argument("memory_ids", nargs=-1, required=True, metavar="ID...")
@with_context
def delete(context: CommandContext, memory_ids: tuple[str, ...]) -> None:
    """Hide memories from every search.

    zapomni restore brings them back, until zapomni purge removes them. Exits with 1 if one does not exist.
    """

    async def work(engine: "MemoryEngine") -> int:
        deleted, missing = await _each(context, memory_ids, engine.delete_memory, _deleted)
        if context.as_json:
            context.out.json({"deleted": [memory.id for memory in deleted.values()], "missing": missing})
        return int(bool(missing))

    context.run(work)


@click.command()
@shared_options()
@click.argument("memory_ids", nargs=-1, required=True, metavar="ID...")
@with_context
def restore(context: CommandContext, memory_ids: tuple[str, ...]) -> None:
    """Bring back deleted memories, and those that a deleted memory had replaced.

    Exits with 1 if one does not exist.
    """

    async def work(engine: "MemoryEngine") -> int:
        found, missing = await _each(context, memory_ids, engine.restore_memory, _restored)
        if context.as_json:
            context.out.json({**_restored_document(found), "missing": missing})
        return int(bool(missing))

    context.run(work)


@click.command()
@shared_options()
@click.argument("memory_ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--days",
    type=click.IntRange(0, MAX_DAYS),
    default=0,
    metavar="N",
    help="Only memories deleted more than N days ago.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_context
def purge(context: CommandContext, memory_ids: tuple[str, ...], days: int, yes: bool) -> None:
    """Permanently remove deleted memories with their text and vectors.

    Removes all deleted memories, or those named, after showing them and asking. Others are left alone.
    """
    chosen = memory_ids or None if yes else _confirm(context, memory_ids, days)

    async def work(engine: "MemoryEngine") -> int:
        removed = await engine.purge(days=days, memory_ids=chosen)
        if context.as_json:
            context.out.json({"removed": removed})
        else:
            context.out.text(f"Permanently removed {_memories(removed)}.")
        left = len(set(memory_ids)) - removed if memory_ids else 0
        if left:
            click.echo(f"Error: {_memories(left)} not removed: missing, not deleted, or deleted too recently", err=True)
        return int(left > 0)

    context.run(work)


async def _each(
    context: CommandContext,
    memory_ids: Sequence[str],
    change: "Callable[[str], Awaitable[Memory]]",
    describe: "Callable[[str, Memory], str]",
) -> "tuple[dict[str, Memory], list[str]]":
    """Change and print each memory; return the changed memories by the requested ID, and the IDs that do not exist."""
    changed, missing = {}, []
    for memory_id in dict.fromkeys(memory_ids):
        try:
            changed[memory_id] = await change(memory_id)
        except MemoryNotFoundError as error:
            missing.append(memory_id)
            click.echo(f"Error: {one_line(str(error))}", err=True)
        else:
            if not context.as_json:
                context.out.text(describe(memory_id, changed[memory_id]))
    return changed, missing


def _deleted(_: str, memory: "Memory") -> str:
    line = f"deleted {_named(memory)}"
    if not memory.replaces:
        return line
    return f"{line}\nIt had replaced {', '.join(memory.replaces)}; zapomni restore brings that back."


def _restored(requested: str, memory: "Memory") -> str:
    if memory.id != requested:
        return (
            f"already stored as {_named(memory)}\n"
            f"The same text was added again after {requested} was replaced, so {requested} was not restored."
        )
    if memory.replaced_by:
        return (
            f"still replaced {_named(memory)}\n"
            f"It is no longer deleted, but searches skip it because {memory.replaced_by} replaces it."
            f" To bring it back: zapomni delete {memory.replaced_by} && zapomni restore {requested}"
        )
    return f"restored {_named(memory)}"


def _restored_document(found: "Mapping[str, Memory]") -> dict[str, Any]:
    """By requested ID: restored, still replaced by another memory, or stored again under another ID."""
    return {
        "restored": [key for key, memory in found.items() if memory.id == key and not memory.replaced_by],
        "replaced": {key: memory.replaced_by for key, memory in found.items() if memory.replaced_by},
        "same": {key: memory.id for key, memory in found.items() if memory.id != key},
    }


def _named(memory: "Memory") -> str:
    from zapomni_core.memory.content import preview

    return f"{memory.id}: {one_line(preview(memory.text))}"


def _confirm(context: CommandContext, memory_ids: Sequence[str], days: int) -> list[str]:
    """Show the deleted memories, all or those named, and ask; return the IDs that may be removed."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidRequest("This cannot be undone, and there is no terminal to confirm it on; use --yes")

    async def find(engine: "MemoryEngine") -> "tuple[list[str], list[Memory]]":
        found = await engine.list_deleted(days=days)
        chosen = [memory_id for memory_id in found if not memory_ids or memory_id in memory_ids]
        return chosen, [await engine.get_memory(memory_id) for memory_id in chosen[:MAX_SHOWN]]

    chosen, shown = context.query(find)
    for memory in shown:
        click.echo(f"deleted {memory.deleted_at:%Y-%m-%d} {_named(memory)}", err=True)
    if len(chosen) > len(shown):
        click.echo(f"and {len(chosen) - len(shown):,} more", err=True)
    if chosen:
        click.confirm(f"Permanently remove {_memories(len(chosen))}?", abort=True, err=True)
    return chosen


def _memories(count: int) -> str:
    return f"{count:,} memor{'y' if count == 1 else 'ies'}"
