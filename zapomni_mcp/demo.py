"""Shows Zapomni at work: the real server over stdio, called by a real MCP client; then the same beside broken plugins."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

BROKEN = {
    "absent_library": "import a_library_that_nobody_installed",
    "exits": "import sys\nprint('noise on standard output')\nsys.exit('goodbye')",
    "misspelt": "from zapomni_core.plugin import hookimpl\n@hookimpl\ndef zapomni_tool():\n    return []",
    "raises": (
        "from zapomni_core.plugin import hookimpl, tool\n"
        "@tool\n"
        "async def unlucky() -> str:\n"
        '    """Fail, whatever is asked of it."""\n'
        "    raise RuntimeError('a secret of the server')\n"
        "@hookimpl\n"
        "def zapomni_tools():\n"
        "    return [unlucky]"
    ),
}


def main() -> None:
    """Run the demonstration; the exit code tells whether everything went as it should."""
    with tempfile.TemporaryDirectory(prefix="zapomni-demo-") as folder:
        sys.exit(asyncio.run(_demonstrate(Path(folder))))


async def _demonstrate(folder: Path) -> int:
    from rich.console import Console

    console = Console(highlight=False)
    console.print("[bold]1. The server as a client starts it: over stdio, with the plugins that are installed[/bold]")
    alone = await _session(console, folder, {})
    console.print("\n[bold]2. The same with four broken plugins installed beside them[/bold]")
    beside = await _session(console, folder, {"PYTHONPATH": str(_install_broken(folder / "broken"))})
    await _show_failures(console, folder)
    console.print(
        "\nConnect a client:  [bold]claude mcp add zapomni -- " + str(_command()) + "[/bold]   (others: README.md)"
    )
    return 0 if alone and beside else 1


async def _session(console: Any, folder: Path, environment: Mapping[str, str]) -> bool:
    """One run of the server; True where `hello` answered as it should."""
    from rich.table import Table

    started = time.perf_counter()
    async with _client(folder, environment) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        console.print(f"tools/list after {time.perf_counter() - started:.2f} s: {', '.join(tools)}")
        table = Table("call", "answer", "ms", box=None, header_style="dim")
        answers = [await _call(client, table, *call) for call in _calls(tools)]
        console.print(table)
    return answers[0] == "Hello, Ada!"


def _calls(tools: list[str]) -> list[tuple[str, dict[str, Any]]]:
    calls: list[tuple[str, dict[str, Any]]] = [("hello", {"name": "Ada"}), ("hello", {"nme": "Ada"})]
    return [*calls, ("unlucky", {})] if "unlucky" in tools else calls


async def _call(client: Any, table: Any, tool: str, arguments: dict[str, Any]) -> str:
    started = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    milliseconds = (time.perf_counter() - started) * 1000
    table.add_row(f"{tool} {arguments}", result.content[0].text, f"{milliseconds:.1f}")
    return str(result.content[0].text)


async def _show_failures(console: Any, folder: Path) -> None:
    """What `zapomni plugins` says of them."""
    console.print("\n[bold]3. What `zapomni plugins` says of them[/bold]")
    process = await asyncio.create_subprocess_exec(
        _command(),
        "plugins",
        env=_environment(folder) | {"PYTHONPATH": str(folder / "broken")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    console.print(output.decode().rstrip(), markup=False)


def _client(folder: Path, environment: Mapping[str, str]) -> AbstractAsyncContextManager[Any]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=str(_command()), env={**_environment(folder), **environment})
    return Client(stdio_client(server, errlog=(folder / "server.log").open("a")))


def _environment(folder: Path) -> dict[str, str]:
    """The user's environment without the user's settings: a demonstration must not depend on them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ZAPOMNI_")}
    return kept | {"ZAPOMNI_CONFIG": str(_empty_settings(folder))}


def _empty_settings(folder: Path) -> Path:
    file = folder / "zapomni.toml"
    file.touch()
    return file


def _command() -> Path:
    return Path(sys.executable).with_name("zapomni")


def _install_broken(folder: Path) -> Path:
    """Broken plugins, installed the way pip does it: a module and its metadata."""
    for name, source in BROKEN.items():
        info = folder / f"zapomni_plugin_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"zapomni_plugin_{name}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: zapomni-plugin-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[zapomni.plugins]\n{name} = zapomni_plugin_{name}\n")
    return folder


if __name__ == "__main__":
    main()
