"""Compares the server with a bare SDK server with the same three no-op tools in one run."""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from client import Server
from installing import install
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ROUNDS = 9
ROUND_TRIPS = (20, 50)
OTHERS = "hello,audit,graph,sessions,memory,builtin"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        console = Console(highlight=False)
        console.print(_cold_start(folder))
        console.print(_running(folder))
        console.print(_registration())


def _zapomni(folder: Path, label: str, plugins: dict[str, int]) -> tuple[list[str], dict[str, str]]:
    """The command and environment of our server with generated plugins and no others."""
    home = folder / label
    if not home.exists():
        home.mkdir()
        install(home, plugins)
    (folder / "empty.toml").touch()
    command = [str(Path(sys.executable).with_name("zapomni")), "serve"]
    environment = {
        "PYTHONPATH": str(home),
        "ZAPOMNI_CONFIG": str(folder / "empty.toml"),
        "ZAPOMNI_PLUGINS__DISABLE": OTHERS,
    }
    return command, environment


def _as_installed(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Our server with the bundled plugins, and no others."""
    command, environment = _zapomni(folder, "none", {})
    return command, environment | {"ZAPOMNI_PLUGINS__DISABLE": "hello,audit,graph,sessions"}


def _bare() -> tuple[list[str], dict[str, str]]:
    return [sys.executable, str(HERE / "bare_server.py")], {}


def _cold_start(folder: Path) -> Table:
    kinds = {
        "bare SDK server": _bare(),
        "zapomni, 3 tools": _zapomni(folder, "three", {"noop": 3}),
        "zapomni as installed, memory tools": _as_installed(folder),
        "zapomni, 1,000 tools of 100 plugins": _zapomni(folder, "many", {f"noop{n}": 10 for n in range(100)}),
    }
    wall: dict[str, list[float]] = {kind: [] for kind in kinds}
    cpu: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(ROUNDS + 1):
        for kind, start in kinds.items():
            with Server(*start) as server:
                seconds = server.open()
                if number:  # the first round compiles
                    wall[kind].append(seconds)
                    cpu[kind].append(server.cpu_seconds())
    table = Table("cold start to tools/list", "wall ms", "min", "CPU ms", "min", "ratio (CPU min)", title="Start")
    base = min(cpu["bare SDK server"])
    for kind in kinds:
        table.add_row(kind, *_figures(wall[kind]), *_figures(cpu[kind]), f"{min(cpu[kind]) / base:.2f}")
    three, many = min(cpu["zapomni, 3 tools"]), min(cpu["zapomni, 1,000 tools of 100 plugins"])
    table.caption = f"bound: 1.3 of the bare server; 1,000 tools take {many / three:.2f} of three"
    return table


def _figures(seconds: list[float]) -> tuple[str, str]:
    return f"{statistics.median(seconds) * 1000:.0f}", f"{min(seconds) * 1000:.0f}"


def _running(folder: Path) -> Table:
    kinds = {
        "bare SDK server": _bare(),
        "zapomni": _zapomni(folder, "three", {"noop": 3}),
    }
    with ExitStack() as stack:
        servers = {kind: stack.enter_context(Server(*start)) for kind, start in kinds.items()}
        for server in servers.values():
            server.open()
        idle_before = {kind: server.resident_mb() for kind, server in servers.items()}
        trips: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(ROUND_TRIPS[0]):
            for kind, server in servers.items():
                trips[kind] += list(_round_trips(server, ROUND_TRIPS[1]))
        memory = {kind: server.resident_mb() for kind, server in servers.items()}
        idle = _idle_cpu(servers)
    return _running_table(trips, idle_before, memory, idle)


def _round_trips(server: Server, count: int) -> Iterator[float]:
    for _ in range(count):
        started = time.perf_counter()
        answer = server.request("tools/call", {"name": server.tools[0], "arguments": {"text": "x"}})
        yield time.perf_counter() - started
        assert answer["result"]["content"][0]["text"] == "done"


def _idle_cpu(servers: dict[str, Server]) -> dict[str, float]:
    before = {kind: server.cpu_seconds() for kind, server in servers.items()}
    time.sleep(5)
    return {kind: (server.cpu_seconds() - before[kind]) / 5 for kind, server in servers.items()}


def _running_table(trips, idle_before, memory, idle) -> Table:
    table = Table(
        "running",
        "round trip µs",
        "p10",
        "ratio",
        "RSS MB before calls",
        "after",
        "ratio",
        "idle CPU %",
        title="Running",
    )
    bare = "bare SDK server"
    for kind, seconds in trips.items():
        ratio = statistics.median(seconds) / statistics.median(trips[bare])
        table.add_row(
            kind,
            f"{statistics.median(seconds) * 1e6:.0f}",
            f"{statistics.quantiles(seconds, n=10)[0] * 1e6:.0f}",
            f"{ratio:.2f}",
            f"{idle_before[kind]:.1f} ({idle_before[kind] / idle_before[bare]:.2f})",
            f"{memory[kind]:.1f}",
            f"{memory[kind] / memory[bare]:.2f}",
            f"{idle[kind] * 100:.2f}",
        )
    table.caption = "bound: memory 1.2 of the bare server"
    return table


def _registration() -> Table:
    from zapomni_core.host.registry import ToolRegistry
    from zapomni_core.plugin import ToolResult

    class Noop:
        description = "Do nothing, quickly."

        def __init__(self, number: int) -> None:
            self.name = f"noop_{number}"
            self.input_schema = {"type": "object", "properties": {f"text{number}": {"type": "string"}}}

        async def execute(self, _arguments):
            return ToolResult.text("done")

    registry = ToolRegistry()
    tools = [Noop(number) for number in range(1000)]
    started = time.perf_counter()
    for tool in tools:
        registry.register(tool)
    each = (time.perf_counter() - started) / len(tools)
    table = Table("registration", "µs", "seed's figure", title="Registering")
    table.add_row("one class tool", f"{each * 1e6:.0f}", "< 1,000 (1 ms)")
    return table


if __name__ == "__main__":
    main()
