"""`zapomni doctor`: what is wrong, and what to do about it."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.cli.output import Output
from zapomni_mcp.process import exit_soon

if TYPE_CHECKING:
    from zapomni_mcp.cli.findings import Finding


@click.command()
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_obj
def doctor(options: Options, as_json: bool) -> None:
    """Find what is wrong, and how to mend it.

    Examines the installation, the settings, every plugin and the whole store. Exits with 1 when something failed.
    """
    sys.exit(asyncio.run(_doctor(options, Output(), as_json=as_json)))


async def _doctor(options: Options, out: Output, *, as_json: bool) -> int:
    """Show the findings, here already, because asyncio.run waits for the threads of its executor; the exit code."""
    from zapomni_mcp.cli.examination import examine

    code = 1
    try:
        findings = await examine(options)
        code = int(any(finding.level == "fail" for finding in findings))
        if as_json:
            out.json({"findings": [asdict(finding) for finding in findings], "ok": code == 0})
        else:
            show_findings(out, findings)
    finally:
        exit_soon(code)
    return code


def show_findings(out: Output, findings: "Sequence[Finding]") -> None:
    """Print what was found, each with its fix, and how much of it is bad."""
    for finding in findings:
        out.marked(finding.level, f"{finding.what}: {finding.detail}")
        if finding.fix:
            out.step(finding.fix)
    levels = [finding.level for finding in findings]
    out.text(f"\n{levels.count('fail')} failed, {levels.count('warn')} to look at, {levels.count('ok')} well")
