"""`zapomni gaps`: the tools that agents missed."""

import asyncio
import json
from collections.abc import Iterator

import click

from zapomni_core.plugin import MemoryEngine, counted
from zapomni_plugin_sessions.formatting import minute, one_line
from zapomni_plugin_sessions.gaps import Gap, forget, recorded

MOST = 10_000


def make_gaps(engine: MemoryEngine) -> click.Command:
    """The command, over an engine."""

    @click.command()
    @click.option(
        "--limit", type=click.IntRange(1, MOST), default=100, show_default=True, metavar="N", help="At most so many."
    )
    @click.option("--forget", "forgotten", multiple=True, metavar="ID", help="Forget this one; may be repeated.")
    @click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
    def gaps(limit: int, forgotten: tuple[str, ...], as_json: bool) -> None:
        """List the tools that agents missed in this workspace, as they reported it, the newest first."""
        if forgotten:
            click.echo(f"Forgot {counted(asyncio.run(forget(engine, forgotten)), 'gap')}.", err=as_json)
        found = asyncio.run(recorded(engine, limit))
        click.echo(json.dumps({"gaps": [_as_dict(one) for one in found]}, indent=2) if as_json else _told(found))

    return gaps


def _as_dict(gap: Gap) -> dict[str, object]:
    return {"id": gap.id, "recorded_at": gap.recorded_at.isoformat(), **gap.report.model_dump(mode="json")}


def _told(gaps: list[Gap]) -> str:
    return "\n".join(line for one in gaps for line in _lines(one)) if gaps else "No gaps: no agent has reported one."


def _lines(gap: Gap) -> Iterator[str]:
    report = gap.report
    missing = f"{', '.join(report.missing_tools)}: {report.attempted_task}"
    yield f"{minute(gap.recorded_at)}  {one_line(missing)}"
    if report.existing_tools_checked:
        yield f"  checked: {one_line(', '.join(report.existing_tools_checked))}"
    if report.proposed_mcp_server:
        yield f"  proposed: {one_line(report.proposed_mcp_server)}"
    yield f"  id: {gap.id}"
