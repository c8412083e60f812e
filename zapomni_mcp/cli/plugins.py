"""`zapomni plugins`: what became of each plugin."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.check import check
from zapomni_mcp.cli.composition import compose_anyway, find_plugins, log_if_asked, read_config, try_out
from zapomni_mcp.cli.options import Options, refuse_for_another, shared_options
from zapomni_mcp.cli.output import Output
from zapomni_mcp.cli.show import show
from zapomni_mcp.cli.switches import disable, enable

if TYPE_CHECKING:
    from zapomni_core.app import App
    from zapomni_core.host.report import PluginReport
    from zapomni_mcp.config import Config


@click.group(invoke_without_command=True)
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--no-load", is_flag=True, help="List from the installed metadata alone; import no plugin.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool, no_load: bool) -> None:
    """List the plugins, and why a plugin failed."""
    if ctx.invoked_subcommand is not None:
        refuse_for_another(ctx)
        return
    options = ctx.ensure_object(Options)
    out = Output()
    config = read_config(options)

    def tell(reports: "Iterable[PluginReport]") -> int:
        if as_json:
            out.json({"plugins": [report.as_dict() for report in reports]})
        else:
            _show(out, list(reports))
        return 0

    if no_load:
        tell(_listed(options, config))
    else:
        app = _loaded(options, config)
        try_out(app, lambda: tell(app.report))


for command in (show, check, enable, disable):
    plugins.add_command(command)


def _loaded(options: Options, config: "Config") -> "App":
    log_if_asked(config)
    app, refusal = compose_anyway(options, config.settings, find_plugins(options))
    if refusal:
        click.echo("The server would not start like this, run: zapomni doctor", err=True)
    return app


def _listed(options: Options, config: "Config") -> "list[PluginReport]":
    from zapomni_core.host.discovery import refusal
    from zapomni_core.host.report import PluginReport

    reports = []
    for found in find_plugins(options):
        report = PluginReport.of(found)
        if reason := refusal(found, config.settings.plugins):
            report.state, report.cause = "disabled", reason
        reports.append(report)
    return reports


def _show(out: Output, reports: "list[PluginReport]") -> None:
    if not reports:
        out.text("No plugins.")
        return
    out.table(
        ("PLUGIN", "VERSION", "STATE", "TOOLS", "IMPORT", "DISTRIBUTION"),
        [_row(report) for report in reports],
        right=("TOOLS", "IMPORT"),
    )
    for report in reports:
        _explain(out, report)


def _row(report: "PluginReport") -> tuple[str, ...]:
    took = "" if report.import_ms is None else f"{report.import_ms:.0f} ms"
    tools = str(len(report.tools)) if report.state == "loaded" else ""
    return (report.name, report.version, report.state, tools, took, report.distribution or Path(report.source).name)


def _explain(out: Output, report: "PluginReport") -> None:
    if report.state == "failed":
        out.text("")
        out.marked("fail", f"{report.name} at {report.stage}: {report.cause}")
        out.step(report.fix or "zapomni doctor")
    elif report.cause:
        out.text("")
        out.marked("", f"{report.name} is {report.cause}")
        out.step(f"zapomni plugins enable {report.name}")
    for warning in report.warnings:
        out.text("")
        out.marked("warn", f"{report.name}: {warning}")
