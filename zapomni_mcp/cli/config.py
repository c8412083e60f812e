"""`zapomni config`: the settings in effect and their origins."""

import click

from zapomni_mcp.cli.context import read_config
from zapomni_mcp.cli.options import Options, shared_options
from zapomni_mcp.cli.output import Output


@click.command()
@shared_options()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_obj
def config(options: Options, as_json: bool) -> None:
    """Show the settings in effect and where each came from.

    Secrets and all settings of plugins are masked. zapomni plugins show NAME masks only what the plugin calls secret.
    """
    from zapomni_mcp.config import dump, settings_file

    out = Output()
    loaded = read_config(options)
    file = loaded.file or settings_file(options.config)
    rows = dump(loaded)
    if as_json:
        settings = [{"key": key, "value": value, "origin": origin} for key, value, origin in rows]
        unused = [{"variable": name, "reason": reason} for name, reason in loaded.unused.items()]
        out.json({"file": str(file), "exists": loaded.file is not None, "settings": settings, "unused": unused})
        return
    out.text(f"Settings file: {file}" + (" (does not exist)" if loaded.file is None else ""))
    out.text("")
    short = {str(loaded.file): "the file"}
    cells = [(key, short.get(origin, origin), value) for key, value, origin in rows]
    out.table(("KEY", "FROM", "VALUE"), cells, full=True)
    for name, reason in loaded.unused.items():
        click.echo(f"{name} has no effect: {reason}.", err=True)
