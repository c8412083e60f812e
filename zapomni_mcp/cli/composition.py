"""The settings and the app as the options ask for them. What is heavy is imported when it is called for."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from zapomni_core.errors import ConfigurationError
from zapomni_mcp.cli.options import Options
from zapomni_mcp.process import exit_soon

if TYPE_CHECKING:
    from zapomni_core.app import App
    from zapomni_core.host.discovery import Found
    from zapomni_core.settings import Settings
    from zapomni_mcp.config import Config


def read_config(options: Options) -> "Config":
    """The settings in effect."""
    from zapomni_mcp.config import load

    return load(options.config, env_file=options.env_file)


def find_plugins(options: Options) -> "list[Found]":
    """The installed plugins, by their metadata alone, and the files that were named."""
    from zapomni_core.host.discovery import discover, from_file

    return [*([] if options.no_plugins else discover()), *map(from_file, options.plugin)]


def compose(options: Options, settings: "Settings", meanwhile: Callable[[], object] = lambda: None) -> "App":
    """The app; a ConfigurationError where something that was chosen failed."""
    app, refusal = compose_anyway(options, settings, find_plugins(options), meanwhile)
    if refusal and options.no_plugins:
        refusal += "\n--no-plugins is given, so that no installed plugin is taken"
    if refusal:
        raise ConfigurationError(refusal)
    return app


def compose_anyway(
    options: Options,
    settings: "Settings",
    found: "Sequence[Found]",
    meanwhile: Callable[[], object] = lambda: None,
) -> "tuple[App, str | None]":
    """The app with whatever could be loaded, and why the server would not start with it."""
    from zapomni_core.app import App

    app = App(settings)
    app.engine.program = click.get_current_context().command_path
    try:
        app.load(found, strict=options.strict, meanwhile=meanwhile)
    except ConfigurationError as error:
        return app, str(error)
    return app, None


def try_out(app: "App", tell: Callable[[], int]) -> int:
    """Open and close what guests have to open, so that the report says whether it can be done; then `tell`: its exit code."""
    return asyncio.run(_try_out(app, tell))


async def _try_out(app: "App", tell: Callable[[], int]) -> int:
    """Tell here already, because asyncio.run waits for whatever a plugin does not let go of."""
    await app.start(bundled=False)
    await app.ready()
    await app.stop()
    code = tell()
    exit_soon(code)
    return code


def log_if_asked(config: "Config") -> None:
    """Log only where the user set a level: these commands tell by themselves what became of the plugins."""
    from zapomni_mcp.logging import configure

    configure("CRITICAL" if config.origins["log_level"] == "default" else config.settings.log_level)


def tell_of_failures(app: "App") -> None:
    """Say on standard error that what is shown is not all there could be."""
    if failed := app.report.in_state("failed"):
        click.echo(f"{len(failed)} failed ({', '.join(one.name for one in failed)}), run: zapomni doctor", err=True)
