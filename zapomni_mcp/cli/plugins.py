"""`zapomni plugins`: list, show, check, enable and disable plugins."""

import inspect
import json
import os
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from zapomni_mcp.cli.context import configure_logging, find_plugins, read_config, run_lifespans, try_load_app
from zapomni_mcp.cli.doctor import show_findings
from zapomni_mcp.cli.errors import InvalidRequest, suggestion
from zapomni_mcp.cli.options import Options, reject_before_subcommand, shared_options
from zapomni_mcp.cli.output import Output

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from zapomni_core.app import App
    from zapomni_core.host.discovery import Found
    from zapomni_core.host.report import PluginReport
    from zapomni_core.settings import Settings
    from zapomni_mcp.config import Config

SWITCHES = ("enable", "disable", "allow")


@click.group(invoke_without_command=True)
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--no-load", is_flag=True, help="List from the installed metadata alone; import no plugin.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool, no_load: bool) -> None:
    """List the plugins, and why a plugin failed."""
    if ctx.invoked_subcommand is not None:
        reject_before_subcommand(ctx)
        return
    options = ctx.ensure_object(Options)
    out = Output()
    config = read_config(options)

    def show_reports(reports: "Iterable[PluginReport]") -> int:
        if as_json:
            out.json({"plugins": [report.as_dict() for report in reports]})
        else:
            _show_table(out, list(reports))
        return 0

    if no_load:
        show_reports(_reports_without_loading(options, config))
    else:
        app = _load(options, config)
        run_lifespans(app, lambda: show_reports(app.report))


def plugin_names(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The installed plugins whose names begin with `incomplete`, for shell completion."""
    from zapomni_core.host.discovery import discover

    return [one.name for one in discover() if one.name.startswith(incomplete)]


@plugins.command()
@shared_options()
@click.argument("target", metavar="NAME or FILE.py", shell_complete=plugin_names)
@click.pass_obj
def show(options: Options, target: str) -> None:
    """Show what a plugin offers, its settings and its state."""
    out = Output()
    config = read_config(options)
    configure_logging(config)
    found = [_from_file(target)] if _is_file(target) else find_plugins(options)
    matches = found if _is_file(target) else _named(target, found)
    app, _ = try_load_app(options, config.settings, found)
    for one, report in zip(found, app.report, strict=True):
        if one in matches:
            offer = app.offer(report)
            _show_report(out, report, offer.plugin)
            _show_settings(out, report, offer.model, config)


@plugins.command()
@shared_options()
@click.argument("target", required=False, metavar="[NAME or FILE.py]", shell_complete=plugin_names)
@click.pass_obj
def check(options: Options, target: str | None) -> None:
    """Check that one plugin or all load, open and close, and give advice on their tools.

    Exits with 1 if a plugin failed; advice is not a failure.
    """
    from zapomni_mcp.cli.checks import check_plugins, check_tools

    out = Output()
    config = read_config(options)
    configure_logging(config)
    found = find_plugins(options) if target is None else _enabled(target, options, config.settings)
    app, _ = try_load_app(options, config.settings, found)

    def report() -> int:
        findings = [*check_plugins(app.report), *check_tools(app.registry)]
        show_findings(out, findings)
        return int(any(finding.level == "fail" for finding in findings))

    sys.exit(run_lifespans(app, report))


@plugins.command()
@shared_options()
@click.argument("name", shell_complete=plugin_names)
@click.pass_obj
def enable(options: Options, name: str) -> None:
    """Enable a plugin from the next start on."""
    _switch(options, name, enabled=True)


@plugins.command()
@shared_options()
@click.argument("name", shell_complete=plugin_names)
@click.pass_obj
def disable(options: Options, name: str) -> None:
    """Disable a plugin from the next start on; a disabled plugin is not imported."""
    _switch(options, name, enabled=False)


def _named(name: str, found: "Sequence[Found]") -> "list[Found]":
    """The plugins with this name or of the distribution with this name."""
    matches = [one for one in found if one.is_called([name])]
    if not matches:
        raise InvalidRequest(f"unknown plugin '{name}'{suggestion(name, (one.name for one in found))}")
    return matches


def _is_file(target: str) -> bool:
    return target.endswith(".py") or os.sep in target


def _from_file(target: str) -> "Found":
    from zapomni_core.host.discovery import from_file

    file = Path(target)
    if file.is_dir():
        raise InvalidRequest(f"{file} is a directory; give its .py file, or install it and give the plugin's name")
    if not file.is_file():
        raise InvalidRequest(f"file {file} does not exist")
    return from_file(file)


def _enabled(target: str, options: Options, settings: "Settings") -> "list[Found]":
    """The plugins to check; an error if the first of them is disabled."""
    from zapomni_core.host.discovery import refusal

    if _is_file(target):
        return [_from_file(target)]
    found = _named(target, find_plugins(options))
    if reason := refusal(found[0], settings.plugins):
        raise click.ClickException(
            f"plugin '{target}' is {reason} and cannot be imported; first run: zapomni plugins enable {target}"
        )
    return found


def _load(options: Options, config: "Config") -> "App":
    configure_logging(config)
    app, problem = try_load_app(options, config.settings, find_plugins(options))
    if problem:
        click.echo("The server would not start like this, run: zapomni doctor", err=True)
    return app


def _reports_without_loading(options: Options, config: "Config") -> "list[PluginReport]":
    from zapomni_core.host.discovery import refusal
    from zapomni_core.host.report import PluginReport

    reports = []
    for found in find_plugins(options):
        report = PluginReport.of(found)
        if reason := refusal(found, config.settings.plugins):
            report.state, report.cause = "disabled", reason
        reports.append(report)
    return reports


def _show_table(out: Output, reports: "list[PluginReport]") -> None:
    if not reports:
        out.text("No plugins.")
        return
    out.table(
        ("PLUGIN", "VERSION", "STATE", "TOOLS", "IMPORT", "DISTRIBUTION"),
        [_row(report) for report in reports],
        right=("TOOLS", "IMPORT"),
    )
    for report in reports:
        _show_problems(out, report)


def _row(report: "PluginReport") -> tuple[str, ...]:
    took = "" if report.import_ms is None else f"{report.import_ms:.0f} ms"
    tools = str(len(report.tools)) if report.state == "loaded" else ""
    return (report.name, report.version, report.state, tools, took, report.distribution or Path(report.source).name)


def _show_problems(out: Output, report: "PluginReport") -> None:
    if report.state == "failed":
        out.text("")
        out.marked("fail", f"{report.name} at {report.stage}: {report.cause}")
        out.fix(report.fix or "zapomni doctor")
    elif report.cause:
        out.text("")
        out.marked("", f"{report.name} is {report.cause}")
        out.fix(f"zapomni plugins enable {report.name}")
    for warning in report.warnings:
        out.text("")
        out.marked("warn", f"{report.name}: {warning}")


def _show_report(out: Output, report: "PluginReport", plugin: Any) -> None:
    out.text(f"{report.name} {report.version}".strip())
    lines = {
        "state": report.state,
        "because": report.cause or "" if report.state == "disabled" else "",
        "distribution": report.distribution,
        "source": report.source,
        "file": inspect.getattr_static(plugin, "__file__", None) or "",
        "import": "" if report.import_ms is None else f"{report.import_ms:.0f} ms",
        "tools": ", ".join(report.tools),
        "middleware": ", ".join(report.middleware),
        "commands": ", ".join(report.commands),
        "failed at": f"{report.stage}: {report.cause}" if report.stage else "",
        "fix": report.fix or "",
        "warnings": "; ".join(report.warnings),
    }
    for label, value in lines.items():
        if value:
            out.text(f"  {label:<13} {value}")


def _show_settings(out: Output, report: "PluginReport", model: "type[BaseModel] | None", config: "Config") -> None:
    if model is None:
        return
    out.text(f"\nSettings, in [plugins.{report.name}]:")
    rows = [
        row for name, field in model.model_fields.items() for row in _setting_rows(report.name, name, field, config)
    ]
    out.table(("KEY", "FROM", "DEFAULT", "VALUE"), rows, full=True)
    out.text("")
    for name, field in model.model_fields.items():
        if field.description:
            out.text(f"  {name}: {field.description}")


def _setting_rows(plugin: str, name: str, field: "FieldInfo", config: "Config") -> list[tuple[str, str, str, str]]:
    """A row for each value that was set at the key or below it, or one row for the default."""
    from zapomni_core.settings import normalise
    from zapomni_mcp.config.show import MASK, dump_with_plugins

    table = f"plugins.{normalise(plugin)}."
    key = table + (field.alias or name)
    is_secret = _is_secret(field.annotation)
    default = _default(field, MASK if is_secret else None)
    rows = [
        (place.removeprefix(table), origin, default, MASK if is_secret else value)
        for place, value, origin in dump_with_plugins(config)
        if place == key or place.startswith(f"{key}.")
    ]
    return rows or [(field.alias or name, "default", default, "not set" if field.is_required() else default)]


def _is_secret(annotation: Any) -> bool:
    """Whether a value of this type is a secret or contains one."""
    fields = getattr(annotation, "model_fields", {}).values()
    parts = [*get_args(annotation), *(field.annotation for field in fields)]
    return "Secret" in str(annotation) or any(map(_is_secret, parts))


def _default(field: "FieldInfo", mask: str | None) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "computed"
    if field.default is None:
        return "not set"
    return mask or (field.default if isinstance(field.default, str) else json.dumps(field.default, default=str))


def _switch(options: Options, name: str, *, enabled: bool) -> None:
    from zapomni_core.host.discovery import discover
    from zapomni_mcp.config import set_plugin_enabled, settings_file

    found = _named(name, discover())
    file = read_config(options).file or settings_file(options.config)
    before = _switches(file)
    for plugin in found:
        set_plugin_enabled(file, plugin.name, enabled)
    _show_changes(file, before, _switches(file))
    config = read_config(options)
    for plugin in found:
        _warn_if_overridden(plugin, config, enabled=enabled)


def _switches(file: Path) -> dict[str, Any]:
    """The lists in the file itself, without the environment."""
    if not file.exists():
        return {}
    table = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("plugins", {})
    return {key: table[key] for key in SWITCHES if key in table}


def _show_changes(file: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = [key for key in SWITCHES if before.get(key, []) != after.get(key, [])]
    if not changed:
        click.echo(f"Nothing to change in {file}.")
        return
    click.echo(f"Changed in {file}, in effect from the next start on:")
    for key in changed:
        click.echo(f"  plugins.{key} = {json.dumps(after.get(key, []))}")


def _warn_if_overridden(plugin: "Found", config: "Config", *, enabled: bool) -> None:
    """Warn if another setting overrides the change in the file."""
    from zapomni_core.host.discovery import refusal

    settings = config.settings.plugins
    is_off = refusal(plugin, settings) is not None
    if is_off != enabled:
        return
    if enabled:
        key = "disable" if plugin.is_called(settings.disable) else "policy"
    else:
        key = "enable" if plugin.is_called(settings.enable) else "disable"
    state, origin = "disabled" if enabled else "enabled", config.origins[f"plugins.{key}"]
    click.echo(f"But '{plugin.name}' stays {state}: plugins.{key} from {origin} overrides the file.", err=True)
