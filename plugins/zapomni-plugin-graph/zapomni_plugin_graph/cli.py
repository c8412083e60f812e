"""The command `zapomni graph`: what is known about an entity, and the facts as a file."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import click

from zapomni_core.plugin import InvalidInputError, MemoryEngine
from zapomni_core.plugin.graph import Entity, Relation
from zapomni_plugin_graph.export import FORMATS
from zapomni_plugin_graph.formatting import entity_text, fact_line, mentioned_line, short
from zapomni_plugin_graph.tools.get_related import DEEPEST, hints, mentioned_with

PAGE = 500
MOST_FACTS = 1000
MOST_AROUND = 10_000

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def make_command(engine: MemoryEngine) -> click.Group:
    """The command with its subcommands."""

    @click.group("graph")
    def graph() -> None:
        """Show or export the facts that memories state."""

    @graph.command()
    @click.argument("name")
    def facts(name: str) -> None:
        """Show what is known about NAME, over or not, with dates and evidence.

        NAME is the name or the ID of an entity.
        """
        _run(engine, lambda: _show(engine, name))

    @graph.command()
    @click.option("--format", "form", type=click.Choice(list(FORMATS)), required=True, help="What to write.")
    @click.option("--around", metavar="NAME", help="Only the facts around this entity.")
    @click.option("--depth", type=click.IntRange(1, DEEPEST), help="How many steps around it.  [default: 1]")
    def export(form: str, around: str | None, depth: int | None) -> None:
        """Write the facts, over or not, to standard output.

        Entities that are only mentioned together are left out.
        """
        if depth and around is None:
            raise click.UsageError("--depth needs --around")
        found = _all(engine) if around is None else _around(engine, around, depth or 1)
        _run(engine, lambda: _write(FORMATS[form](found)))

    return graph


def _run(engine: MemoryEngine, work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        try:
            await work()
        finally:
            await engine.close()

    asyncio.run(run())


async def _show(engine: MemoryEngine, name: str) -> None:
    starts, found = await engine.graph.related(engine.workspace, [name], ended=True, limit=MOST_FACTS + 1)
    entity = await _known(engine, starts, name)
    others = await mentioned_with(engine, starts)
    lines = [entity_text(entity), *(fact_line(relation) for _, relation in found[:MOST_FACTS])]
    if others:
        lines.append(mentioned_line(others))
    click.echo(_CONTROL.sub("", "\n".join(lines)))
    if not found:
        click.echo("No facts.", err=True)
    elif len(found) > MOST_FACTS:
        click.echo(f"There are more than {MOST_FACTS:,} facts; zapomni graph export writes them all.", err=True)


async def _known(engine: MemoryEngine, starts: list[Entity], name: str) -> Entity:
    """The entity of that name; InvalidInputError, with similar names, if there is none."""
    if starts:
        return starts[0]
    similar = await hints(engine, name)
    raise InvalidInputError(" ".join([f"There is no entity '{short(name, 60)}' in the graph.", *similar]))


async def _all(engine: MemoryEngine) -> AsyncIterator[Relation]:
    after = ""
    while page := await engine.graph.facts(engine.workspace, after, PAGE):
        for fact in page:
            yield fact
        after = page[-1].id


async def _around(engine: MemoryEngine, name: str, depth: int) -> AsyncIterator[Relation]:
    starts, found = await engine.graph.related(engine.workspace, [name], depth=depth, ended=True, limit=MOST_AROUND + 1)
    await _known(engine, starts, name)
    if len(found) > MOST_AROUND:
        click.echo(f"Only the nearest {MOST_AROUND:,} facts are written.", err=True)
    for _, relation in found[:MOST_AROUND]:
        yield relation


async def _write(lines: AsyncIterator[str]) -> None:
    async for line in lines:
        click.echo(line)
