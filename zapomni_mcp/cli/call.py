"""`zapomni call`: one call of a tool, through the whole dispatch, without a client."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from zapomni_core.dispatch.call import STILL_WORKING
from zapomni_core.errors import UnknownToolError
from zapomni_mcp.cli.composition import compose, read_config
from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.cli.output import Output
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.process import exit_soon

if TYPE_CHECKING:
    from zapomni_core.app import App

Result = dict[str, Any]


@click.command()
@shared_options()
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.pass_obj
def call(options: Options, tool: str, arguments: str, as_json: bool) -> None:
    """Call a tool once, without a client.

    Its arguments are a JSON object; - reads it from standard input. Exits with 1 when the answer is an error.
    """
    from zapomni_mcp.logging import configure

    given = _parse(arguments)
    out = Output()
    config = read_config(options)
    configure(config.settings.log_level)
    app = compose(options, config.settings)

    def show(result: Result) -> None:
        out.json(result) if as_json else out.text(_readable(result))

    try:
        app.registry.get(tool)
        code = asyncio.run(_call(app, tool, given, show))
    except UnknownToolError as error:
        raise Refusal(f"{error} (zapomni tools lists them)") from None
    sys.exit(code)


def _parse(arguments: str) -> Result:
    """The arguments. Standard input is read before any plugin could read it."""
    try:
        given = json.loads(sys.stdin.read() if arguments == "-" and sys.stdin else arguments)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"The arguments are no JSON: {error}") from None
    if not isinstance(given, dict):
        raise Refusal('The arguments must be a JSON object, such as \'{"name": "Ada"}\'')
    return given


async def _call(app: "App", tool: str, arguments: Result, show: Callable[[Result], None]) -> int:
    """Show the result, here already, because asyncio.run waits for the threads of its executor; the exit code."""
    await app.start()
    code = 1
    try:
        result = await app.dispatcher.call(tool, arguments, client="zapomni call", on_progress=_tell_progress)
        show(result)
        code = int(result["isError"])
        await app.engine.settle()  # what it leaves is said by the next search, which makes it
    finally:
        await app.stop()
        exit_soon(code)
    return code


async def _tell_progress(done: float, total: float | None, message: str | None) -> None:
    """What the tool tells. That a call goes on at all is for clients to hear: whoever called it here sees that."""
    if message == STILL_WORKING:
        return
    share = f"{done:g}" if total is None else f"{done:g}/{total:g}"
    click.echo(f"{share} {message or ''}".rstrip(), err=True)


def _readable(result: Result) -> str:
    """What a person would read: the texts, a word on other content, or else the structured content."""
    parts = [part["text"] if part["type"] == "text" else _other(part) for part in result["content"]]
    if not parts and "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False, indent=2)
    return "\n".join(parts)


def _other(part: dict[str, Any]) -> str:
    kind = part.get("mimeType") or part.get("uri") or "see --json"
    return f"[{part['type']}: {kind}]"
