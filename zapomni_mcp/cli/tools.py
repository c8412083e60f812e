"""`zapomni tools`: what clients are offered."""

from typing import TYPE_CHECKING, Any

import click

from zapomni_mcp.cli.composition import compose, log_if_asked, read_config, tell_of_failures
from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.cli.output import Output

if TYPE_CHECKING:
    from zapomni_core.host.registry import CheckedTool


@click.command()
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_obj
def tools(options: Options, as_json: bool) -> None:
    """List every tool and what it costs in tokens."""
    out = Output()
    config = read_config(options)
    log_if_asked(config)
    app = compose(options, config.settings)
    rows = [_as_dict(tool) for tool in app.registry]
    total = sum(row["tokens"] for row in rows)
    if as_json:
        out.json({"tools": rows, "total_tokens": total})
    else:
        _show(out, rows, total)
    tell_of_failures(app)


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
        cells = [(row["name"], row["plugin"], str(row["tokens"]), _about(row)) for row in rows]
        out.table(("TOOL", "PLUGIN", "TOKENS", "ABOUT"), cells, right=("TOKENS",))
        out.text("")
    out.text(f"{len(rows)} tool{'s' * (len(rows) != 1)}, {total} tokens in every conversation")


def _about(row: dict[str, Any]) -> str:
    return f"{row['title']}: {row['description']}" if row["title"] else row["description"]
