"""`zapomni plugins check`: whether plugins load, open and close, and what their tools could do better."""

import sys
from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.completion import plugin_names
from zapomni_mcp.cli.composition import compose_anyway, find_plugins, log_if_asked, read_config, try_out
from zapomni_mcp.cli.doctor import show_findings
from zapomni_mcp.cli.names import filed, is_file, named
from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.cli.output import Output

if TYPE_CHECKING:
    from zapomni_core.host.discovery import Found
    from zapomni_core.settings import Settings


@click.command()
@shared_options()
@click.argument("target", required=False, metavar="[NAME or FILE.py]", shell_complete=plugin_names)
@click.pass_obj
def check(options: Options, target: str | None) -> None:
    """Check one plugin, or all: whether it loads, opens and closes, and what its tools could do better.

    Exits with 1 when a plugin failed; advice is no failure.
    """
    from zapomni_mcp.cli.findings import advice, plugins

    out = Output()
    config = read_config(options)
    log_if_asked(config)
    found = find_plugins(options) if target is None else _chosen(target, options, config.settings)
    app, _ = compose_anyway(options, config.settings, found)

    def tell() -> int:
        findings = [*plugins(app.report), *advice(app.registry)]
        show_findings(out, findings)
        return int(any(finding.level == "fail" for finding in findings))

    sys.exit(try_out(app, tell))


def _chosen(target: str, options: Options, settings: "Settings") -> "list[Found]":
    from zapomni_core.host.discovery import refusal

    if is_file(target):
        return [filed(target)]
    found = named(target, find_plugins(options))
    if reason := refusal(found[0], settings.plugins):
        raise click.ClickException(
            f"Plugin '{target}' is {reason}, and so it is not imported; first: zapomni plugins enable {target}"
        )
    return found
