"""`zapomni plugins enable` and `disable`: edit the settings file."""

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zapomni_mcp.cli.completion import plugin_names
from zapomni_mcp.cli.composition import read_config
from zapomni_mcp.cli.names import named
from zapomni_mcp.cli.options import Options, shared_options

if TYPE_CHECKING:
    from zapomni_core.host.discovery import Found
    from zapomni_mcp.config import Config

SWITCHES = ("enable", "disable", "allow")


@click.command()
@shared_options()
@click.argument("name", shell_complete=plugin_names)
@click.pass_obj
def enable(options: Options, name: str) -> None:
    """Take a plugin again, from the next start on."""
    _switch(options, name, enabled=True)


@click.command()
@shared_options()
@click.argument("name", shell_complete=plugin_names)
@click.pass_obj
def disable(options: Options, name: str) -> None:
    """Take a plugin no more, from the next start on; it is then not even imported."""
    _switch(options, name, enabled=False)


def _switch(options: Options, name: str, *, enabled: bool) -> None:
    from zapomni_core.host.discovery import discover
    from zapomni_mcp.config import edit_plugin_switch, settings_file

    found = named(name, discover())
    file = read_config(options).file or settings_file(options.config)
    before = _switches(file)
    for plugin in found:
        edit_plugin_switch(file, plugin.name, enabled)
    _tell(file, before, _switches(file))
    config = read_config(options)
    for plugin in found:
        _tell_of_others(plugin, config, enabled=enabled)


def _switches(file: Path) -> dict[str, Any]:
    """What the file itself says, whatever the environment does."""
    if not file.exists():
        return {}
    plugins = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("plugins", {})
    return {key: plugins[key] for key in SWITCHES if key in plugins}


def _tell(file: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = [key for key in SWITCHES if before.get(key, []) != after.get(key, [])]
    if not changed:
        click.echo(f"{file} says so already; nothing was changed.")
        return
    click.echo(f"Changed in {file}, in effect from the next start on:")
    for key in changed:
        click.echo(f"  plugins.{key} = {json.dumps(after.get(key, []))}")


def _tell_of_others(plugin: "Found", config: "Config", *, enabled: bool) -> None:
    """Say so where something beside the switch in the file has the last word."""
    from zapomni_core.host.discovery import refusal

    plugins = config.settings.plugins
    is_off = refusal(plugin, plugins) is not None
    if is_off != enabled:
        return
    if enabled:
        key = "disable" if plugin.is_called(plugins.disable) else "policy"
    else:
        key = "enable" if plugin.is_called(plugins.enable) else "disable"
    stays, origin = "off" if enabled else "on", config.origins[f"plugins.{key}"]
    click.echo(f"But '{plugin.name}' stays {stays}: plugins.{key} from {origin} has the last word.", err=True)
