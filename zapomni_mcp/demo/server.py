"""The server of the demonstration: a process over stdio with its own store and settings."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

_START = (
    "import os, sys; print(os.getpid(), file=open(sys.argv[1], 'w')); from zapomni_mcp.cli import main; main(['serve'])"
)
_USER_VARIABLES = ("ZAPOMNI_", "LOG_LEVEL")

MAX_LOG_LINES, MAX_LINE_LENGTH = 5, 500


class Server:
    """A store in a folder, and the process that serves it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid_file = folder / "pid"
        self._log = folder / "server.log"
        (folder / "zapomni.toml").touch()

    @asynccontextmanager
    async def client(self) -> AsyncIterator["Client"]:
        """Start the server and connect a client; stop both at the end."""
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        # -P: nothing is imported from the working directory.
        arguments = ["-P", "-c", _START, str(self._pid_file)]
        parameters = StdioServerParameters(command=sys.executable, args=arguments, env=self._environment)
        with self._log.open("a") as log:
            async with Client(stdio_client(parameters, errlog=log)) as client:
                yield client

    @property
    def pid(self) -> int:
        """The ID of the process that was started last."""
        return int(self._pid_file.read_text())

    def kill(self) -> None:
        """Kill the process with SIGKILL, so it cannot write anything more."""
        os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def log_tail(self) -> str:
        """The last lines of the server's log."""
        logged = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return "\n".join(line[:MAX_LINE_LENGTH] for line in logged[-MAX_LOG_LINES:])

    async def command_line(self, *arguments: str) -> str:
        """The output of a `zapomni` command."""
        process = await asyncio.create_subprocess_exec(
            command(),
            *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        output, _ = await process.communicate()
        return output.decode(errors="replace")

    @property
    def _environment(self) -> dict[str, str]:
        """The environment without the user's settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_USER_VARIABLES)}
        store = (self._folder / "memory.db").as_uri().replace("file://", "sqlite://", 1)
        return kept | {"ZAPOMNI_CONFIG": str(self._folder / "zapomni.toml"), "ZAPOMNI_STORE": store}


def command() -> str:
    """The path of this installation's `zapomni`."""
    beside = shutil.which("zapomni", path=str(Path(sys.executable).parent))
    return beside or str(Path(sys.argv[0]).resolve())


async def call(client: "Client", tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured content of a tool's answer; a RuntimeError with its message if it is an error."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(result.content[0].text)  # type: ignore[union-attr]  # our tools answer with text
    return result.structured_content or {}
