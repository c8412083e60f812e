"""`zapomni doctor`: find problems, and how to fix them."""

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
    from zapomni_mcp.cli.checks import Finding


@click.command()
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_obj
def doctor(options: Options, as_json: bool) -> None:
    """Find problems, and how to fix them.

    Checks the installation, the settings, every plugin and the whole store. Exits with 1 if a check failed.
    """
    sys.exit(asyncio.run(_doctor(options, Output(), as_json=as_json)))


async def _doctor(options: Options, out: Output, *, as_json: bool) -> int:
    """Run the checks and print their findings; return the exit code."""
    from zapomni_mcp.cli.checks import run_checks

    code = 1
    try:
        findings, plugins = await run_checks(options)
        code = int(any(finding.level == "fail" for finding in findings))
        if as_json:
            shown = [asdict(finding) for finding in findings]
            out.json({"findings": shown, "plugins": [one.as_dict() for one in plugins], "ok": code == 0})
        else:
            show_findings(out, findings)
    finally:
        exit_soon(code)  # before asyncio.run waits for the threads of its executor
    return code


def show_findings(out: Output, findings: "Sequence[Finding]") -> None:
    """Print the findings, each with its fix, and how many there are of each level."""
    for finding in findings:
        out.marked(finding.level, f"{finding.what}: {finding.detail}")
        if finding.fix:
            out.fix(finding.fix)
    out.text(f"\n{_summary([finding.level for finding in findings])}")


def _summary(levels: Sequence[str]) -> str:
    """`7 checks passed`, or `1 check failed, 2 warnings, 7 checks passed`."""
    failed, warnings, passed = levels.count("fail"), levels.count("warn"), levels.count("ok")
    counts = (
        f"{failed} check{'s' * (failed != 1)} failed" if failed else "",
        f"{warnings} warning{'s' * (warnings != 1)}" if warnings else "",
        f"{passed} check{'s' * (passed != 1)} passed",
    )
    return ", ".join(filter(None, counts))
