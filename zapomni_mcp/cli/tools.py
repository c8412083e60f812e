"""`zapomni tools` and `zapomni call`: list the tools, and call one without a client."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from zapomni_core.dispatch.call import STILL_WORKING
from zapomni_core.errors import UnknownToolError
from zapomni_core.text.plural import counted
from zapomni_mcp.cli.context import configure_logging, load_app, read_config
from zapomni_mcp.cli.errors import InvalidRequest, report_failed_plugins
from zapomni_mcp.cli.options import Options, reject_before_subcommand, shared_options
from zapomni_mcp.cli.output import Output
from zapomni_mcp.process import exit_soon

if TYPE_CHECKING:
    from zapomni_core.app import App
    from zapomni_core.host.registry import CheckedTool

Result = dict[str, Any]


@click.group(invoke_without_command=True)
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_context
def tools(ctx: click.Context, as_json: bool) -> None:
    """List every tool and about how many tokens it adds to every conversation."""
    if ctx.invoked_subcommand is not None:
        reject_before_subcommand(ctx)
        return
    options = ctx.ensure_object(Options)
    out = Output()
    config = read_config(options)
    configure_logging(config)
    app = load_app(options, config.settings)
    rows = [_as_dict(tool) for tool in app.registry]
    total = sum(row["tokens"] for row in rows)
    if as_json:
        out.json({"tools": rows, "total_tokens": total})
    else:
        _show(out, rows, total)
    report_failed_plugins(app)


@tools.command()
@shared_options()
@click.argument("name")
@click.pass_obj
def show(options: Options, name: str) -> None:
    """Print a tool's entry in the list of tools, exactly as a client gets it."""
    from zapomni_mcp.catalogue import tool_entry

    out = Output()
    config = read_config(options)
    configure_logging(config)
    app = load_app(options, config.settings)
    try:
        out.json(tool_entry(app.registry.get(name)))
    except UnknownToolError as error:
        raise InvalidRequest(f"{error} (zapomni tools lists them)") from None


def _as_dict(tool: "CheckedTool") -> dict[str, Any]:
    from zapomni_core.host.registry import tokens

    return {
        "name": tool.name,
        "plugin": tool.plugin,
        "title": tool.title,
        "description": tool.description,
        "tokens": tokens(tool),
    }


def _show(out: Output, rows: list[dict[str, Any]], total: int) -> None:
    if rows:
        cells = [(row["name"], row["plugin"], f"~{row['tokens']}", _about(row)) for row in rows]
        out.table(("TOOL", "PLUGIN", "TOKENS", "ABOUT"), cells, right=("TOKENS",))
        out.text("")
    out.text(f"{counted(len(rows), 'tool')}, ~{counted(total, 'token')} in every conversation")


def _about(row: dict[str, Any]) -> str:
    return f"{row['title']}: {row['description']}" if row["title"] else row["description"]


@click.command()
@shared_options()
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.pass_obj
def call(options: Options, tool: str, arguments: str, as_json: bool) -> None:
    """Call a tool once, without a client.

    Its arguments are a JSON object; - reads it from standard input. Exits with 1 if the answer is an error.
    """
    from zapomni_mcp.logging import configure

    parsed = _parse(arguments)
    out = Output()
    config = read_config(options)
    configure(config.settings.log_level)
    app = load_app(options, config.settings)

    def show(result: Result) -> None:
        out.json(result) if as_json else out.text(_readable(result))

    try:
        app.registry.get(tool)
        code = asyncio.run(_call(app, tool, parsed, show))
    except UnknownToolError as error:
        raise InvalidRequest(f"{error} (zapomni tools lists them)") from None
    sys.exit(code)


def _parse(arguments: str) -> Result:
    """The arguments. Standard input is read before a plugin can read it."""
    try:
        parsed = json.loads(sys.stdin.read() if arguments == "-" and sys.stdin else arguments)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"The arguments are not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise InvalidRequest('The arguments must be a JSON object, such as \'{"name": "Ada"}\'')
    return parsed


async def _call(app: "App", tool: str, arguments: Result, show: Callable[[Result], None]) -> int:
    """Call the tool and show its result; return the exit code."""
    await app.start()
    code = 1
    try:
        result = await app.dispatcher.call(tool, arguments, client="zapomni call", on_progress=_show_progress)
        show(result)
        code = int(result["isError"])
        await app.engine.finish_embedding()  # what is not embedded in time is left to the next search
    finally:
        await app.stop()
        exit_soon(code)  # before asyncio.run waits for the threads of its executor
    return code


async def _show_progress(done: float, total: float | None, message: str | None) -> None:
    """Print the tool's progress, but not the heartbeat of the dispatcher, which is meant for clients."""
    if message == STILL_WORKING:
        return
    share = f"{done:g}" if total is None else f"{done:g}/{total:g}"
    click.echo(f"{share} {message or ''}".rstrip(), err=True)


def _readable(result: Result) -> str:
    """The texts and a placeholder for other content; the structured content if there is none."""
    parts = [part["text"] if part["type"] == "text" else _placeholder(part) for part in result["content"]]
    if not parts and "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False, indent=2)
    return "\n".join(parts)


def _placeholder(part: dict[str, Any]) -> str:
    kind = part.get("mimeType") or part.get("uri") or "see --json"
    return f"[{part['type']}: {kind}]"
