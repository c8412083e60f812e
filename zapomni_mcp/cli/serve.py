"""`zapomni serve`: the MCP server."""

import asyncio
import gc
import logging
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import click

from zapomni_core.errors import ConfigurationError
from zapomni_mcp.cli.context import load_app, read_config
from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.descriptors import Descriptors, claim_stdio
from zapomni_mcp.process import exit_soon, run_main

if TYPE_CHECKING:
    from zapomni_core.app import App
    from zapomni_mcp.config import Config
    from zapomni_mcp.server import MCPServer

log = logging.getLogger("zapomni.serve")


@click.command()
@shared_options(hidden=False)
@click.pass_obj
def serve(options: Options) -> None:
    """Serve an MCP client over standard input and output.

    Ends at the end of input or at Ctrl-C.
    """
    on_terminal = sys.stdin is not None and sys.stdin.isatty()
    descriptors = _claim_stdio()
    config = read_config(options)
    _configure_logging(config)
    app = load_app(options, config.settings, _import_server)
    if problem := app.engine.extractor_problem:
        raise ConfigurationError(problem)
    _warn_of_llm_problem(app)
    _warn_of_memories_left(config)
    server = _import_server()(app.engine, config.settings, app=app)
    _announce(app)
    if on_terminal:
        click.echo("Waiting for an MCP client on standard input; press Ctrl-D or Ctrl-C to stop.", err=True)
    sys.exit(run_main(_serve(server, descriptors)))


def _claim_stdio() -> Descriptors:
    try:
        return claim_stdio()
    except OSError as error:
        raise click.ClickException(str(error)) from None


def _configure_logging(config: "Config") -> None:
    from zapomni_mcp.config import dump
    from zapomni_mcp.logging import configure

    configure(config.settings.log_level)
    if log.isEnabledFor(logging.INFO):
        settings = {key: value for key, value, _ in dump(config)}
        log.info("configuration", extra={"file": config.file and str(config.file), "settings": settings})


def _import_server() -> "type[MCPServer]":
    # The import creates many permanent objects; scanning them repeatedly would take 7 % of the start.
    gc.disable()
    try:
        from zapomni_mcp.server import MCPServer
    finally:
        gc.freeze()
        gc.enable()
    return MCPServer


def _warn_of_llm_problem(app: "App") -> None:
    """Log the problem that doctor would report, and serve anyway: memories can be stored and found without the model."""
    llm = app.engine.llm_state if app.engine.asks_llm else None
    if llm and (problem := llm.get("problem")):
        asked = {"provider": llm.get("provider"), "model": llm.get("model")}
        log.warning("language_model_not_asked", extra={**asked, "problem": problem, "fix": "run: zapomni doctor"})


def _warn_of_memories_left(config: "Config") -> None:
    from zapomni_mcp.cli.default_store import memories_left

    if left := asyncio.run(memories_left(config)):
        problem, fix = left
        log.warning("memories_left", extra={"problem": problem, "fix": fix})


def _announce(app: "App") -> None:
    from zapomni_mcp.logging import announce

    fields: dict[str, Any] = {"version": version("zapomni")}
    fields["plugins"] = [f"{one.name} {one.version}".strip() for one in app.report.in_state("loaded")]
    if failed := app.report.in_state("failed"):
        fields |= {"failed": len(failed), "fix": "run: zapomni doctor"}
    announce(fields)


async def _serve(server: "MCPServer", descriptors: Descriptors) -> int:
    """Serve until the client is gone; return the exit code."""
    code = 1
    try:
        await server.run(descriptors)
        code = _exit_code(server.app)
    finally:
        exit_soon(code)  # before asyncio.run waits for the threads of its executor
    return code


def _exit_code(app: "App") -> int:
    if not app.failed_requirement.is_set():
        return 0
    for one in app.report.in_state("failed"):
        click.echo(f"Error: plugin '{one.name}' failed at {one.stage}: {one.cause} (fix: {one.fix})", err=True)
    click.echo("Error: a plugin required by plugins.require could not start", err=True)
    return 1
