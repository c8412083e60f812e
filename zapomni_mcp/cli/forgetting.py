"""`zapomni delete`, `restore` and `purge`: hide memories, bring them back, and remove them for good."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from zapomni_db.errors import MemoryNotFoundError
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.session import Session, with_session

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Memory

LONGEST_DAYS = 36_500
MOST_SHOWN = 20


@click.command()
@shared_options()
@click.argument("memory_ids", nargs=-1, required=True, metavar="ID...")
@with_session
def delete(session: Session, memory_ids: tuple[str, ...]) -> None:
    """Hide memories from every search.

    zapomni restore brings them back, until zapomni purge removes them. Exits with 1 when one is not there.
    """

    async def work(engine: "MemoryEngine") -> int:
        deleted, missing = await _each(session, memory_ids, engine.delete_memory, _deleted)
        if session.as_json:
            session.out.json({"deleted": [memory.id for memory in deleted.values()], "missing": missing})
        return int(bool(missing))

    session.run(work)


@click.command()
@shared_options()
@click.argument("memory_ids", nargs=-1, required=True, metavar="ID...")
@with_session
def restore(session: Session, memory_ids: tuple[str, ...]) -> None:
    """Bring deleted memories back, or those that a deleted memory had replaced.

    Exits with 1 when one is not there.
    """

    async def work(engine: "MemoryEngine") -> int:
        there, missing = await _each(session, memory_ids, engine.restore_memory, _restored)
        if session.as_json:
            session.out.json({**_restored_document(there), "missing": missing})
        return int(bool(missing))

    session.run(work)


@click.command()
@shared_options()
@click.argument("memory_ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--days",
    type=click.IntRange(0, LONGEST_DAYS),
    default=0,
    metavar="N",
    help="Only what was deleted more than N days ago.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_session
def purge(session: Session, memory_ids: tuple[str, ...], days: int, yes: bool) -> None:
    """Remove deleted memories for good: text, vectors and all.

    All deleted memories, or those named; shows them and asks first. A memory that is not deleted is left alone.
    """
    chosen = memory_ids or None if yes else _ask(session, memory_ids, days)

    async def work(engine: "MemoryEngine") -> int:
        removed = await engine.purge(days=days, memory_ids=chosen)
        if session.as_json:
            session.out.json({"removed": removed})
        else:
            session.out.text(f"Removed {_memories(removed)} for good.")
        left = len(set(memory_ids)) - removed if memory_ids else 0
        if left:
            click.echo(
                f"Error: {_memories(left)} not removed: not there, not deleted, or deleted too recently", err=True
            )
        return int(left > 0)

    session.run(work)


async def _each(
    session: Session,
    memory_ids: Sequence[str],
    change: "Callable[[str], Awaitable[Memory]]",
    told: "Callable[[str, Memory], str]",
) -> "tuple[dict[str, Memory], list[str]]":
    """Change every memory that is there, and tell of each; what is there now by the id asked for, and what was missing."""
    changed, missing = {}, []
    for memory_id in dict.fromkeys(memory_ids):
        try:
            changed[memory_id] = await change(memory_id)
        except MemoryNotFoundError as error:
            missing.append(memory_id)
            click.echo(f"Error: {one_line(str(error))}", err=True)
        else:
            if not session.as_json:
                session.out.text(told(memory_id, changed[memory_id]))
    return changed, missing


def _deleted(_: str, memory: "Memory") -> str:
    told = f"deleted {_named(memory)}"
    if not memory.replaces:
        return told
    return f"{told}\nIt had replaced {', '.join(memory.replaces)}: zapomni restore brings that back."


def _restored(asked: str, memory: "Memory") -> str:
    if memory.id != asked:
        return (
            f"the same is there as {_named(memory)}\n"
            f"It was added again after {asked} was replaced: {asked} did not have to be restored."
        )
    if memory.replaced_by:
        return (
            f"still replaced {_named(memory)}\n"
            f"It is no longer deleted, but no search finds it: {memory.replaced_by}, which is kept, replaces it."
            f" To bring it back, run zapomni delete {memory.replaced_by} and zapomni restore {asked} once more."
        )
    return f"restored {_named(memory)}"


def _restored_document(there: "Mapping[str, Memory]") -> dict[str, Any]:
    """What became of each memory that was to be restored: it is back, another one replaces it, or the same is there."""
    return {
        "restored": [asked for asked, memory in there.items() if memory.id == asked and not memory.replaced_by],
        "replaced": {asked: memory.replaced_by for asked, memory in there.items() if memory.replaced_by},
        "same": {asked: memory.id for asked, memory in there.items() if memory.id != asked},
    }


def _named(memory: "Memory") -> str:
    from zapomni_core.intake import preview

    return f"{memory.id}: {one_line(preview(memory.text))}"


def _ask(session: Session, memory_ids: Sequence[str], days: int) -> list[str]:
    """Show the deleted memories, only those named if any are, and ask; the ids of what was shown and may be removed."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refusal("This cannot be undone, and there is no terminal to ask on: add --yes")

    async def look(engine: "MemoryEngine") -> "tuple[list[str], list[Memory]]":
        found = await engine.list_deleted(days=days)
        chosen = [memory_id for memory_id in found if not memory_ids or memory_id in memory_ids]
        return chosen, [await engine.get_memory(memory_id) for memory_id in chosen[:MOST_SHOWN]]

    chosen, shown = session.look(look)
    for memory in shown:
        click.echo(f"deleted {memory.deleted_at:%Y-%m-%d} {_named(memory)}", err=True)
    if len(chosen) > len(shown):
        click.echo(f"and {len(chosen) - len(shown):,} more", err=True)
    if chosen:
        click.confirm(f"Remove {_memories(len(chosen))} for good?", abort=True, err=True)
    return chosen


def _memories(count: int) -> str:
    return f"{count:,} memor{'y' if count == 1 else 'ies'}"
