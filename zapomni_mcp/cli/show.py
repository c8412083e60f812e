"""`zapomni plugins show`: everything about one plugin."""

import inspect
import json
from typing import TYPE_CHECKING, Any, get_args

import click

from zapomni_mcp.cli.completion import plugin_names
from zapomni_mcp.cli.composition import compose_anyway, find_plugins, log_if_asked, read_config
from zapomni_mcp.cli.names import filed, is_file, named
from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.cli.output import Output

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from zapomni_core.host.report import PluginReport
    from zapomni_mcp.config import Config


@click.command()
@shared_options()
@click.argument("target", metavar="NAME or FILE.py", shell_complete=plugin_names)
@click.pass_obj
def show(options: Options, target: str) -> None:
    """Show what a plugin offers, its settings, and what became of it."""
    out = Output()
    config = read_config(options)
    log_if_asked(config)
    found = [filed(target)] if is_file(target) else find_plugins(options)
    matches = found if is_file(target) else named(target, found)
    app, _ = compose_anyway(options, config.settings, found)
    for one, report in zip(found, app.report, strict=True):
        if one in matches:
            offer = app.offer(report)
            _show_report(out, report, offer.plugin)
            _show_settings(out, report, offer.model, config)


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
    rows = [row for name, field in model.model_fields.items() for row in _rows(report.name, name, field, config)]
    out.table(("KEY", "FROM", "DEFAULT", "VALUE"), rows, whole=True)
    out.text("")
    for name, field in model.model_fields.items():
        if field.description:
            out.text(f"  {name}: {field.description}")


def _rows(plugin: str, name: str, field: "FieldInfo", config: "Config") -> list[tuple[str, str, str, str]]:
    """A row for each value that was set at the key or beneath it, or one for the default."""
    from zapomni_core.settings import normalise
    from zapomni_mcp.config.showing import MASK, dump_open

    table = f"plugins.{normalise(plugin)}."
    key = table + (field.alias or name)
    is_secret = _is_secret(field.annotation)
    default = _default(field, MASK if is_secret else None)
    rows = [
        (place.removeprefix(table), origin, default, MASK if is_secret else value)
        for place, value, origin in dump_open(config)
        if place == key or place.startswith(f"{key}.")
    ]
    return rows or [(field.alias or name, "default", default, "not set" if field.is_required() else default)]


def _is_secret(annotation: Any) -> bool:
    """Whether a value of that type is a secret, or holds one."""
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
