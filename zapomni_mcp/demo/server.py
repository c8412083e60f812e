"""The server of the demonstration: a real process over stdio, on a store and settings of its own."""

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
_OF_THE_USER = ("ZAPOMNI_", "LOG_LEVEL")

LAST_LINES, LONGEST_LINE = 5, 500


class Server:
    """A store in a folder, and whatever process serves it at the time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid_file = folder / "pid"
        self._log = folder / "server.log"
        (folder / "zapomni.toml").touch()

    @asynccontextmanager
    async def client(self) -> AsyncIterator["Client"]:
        """Start the server, connect a client to it, and end both."""
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
        """Of the process that was started last."""
        return int(self._pid_file.read_text())

    def kill(self) -> None:
        """End the process at once, with no chance to write anything: kill -9."""
        os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def last_words(self) -> str:
        """The last of what the server logged."""
        logged = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return "\n".join(line[:LONGEST_LINE] for line in logged[-LAST_LINES:])

    async def command_line(self, *arguments: str) -> str:
        """What a command of `zapomni` prints."""
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
        """The user's environment without the user's settings: the demonstration neither reads nor touches them."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THE_USER)}
        store = (self._folder / "memory.db").as_uri().replace("file://", "sqlite://", 1)
        return kept | {"ZAPOMNI_CONFIG": str(self._folder / "zapomni.toml"), "ZAPOMNI_STORE": store}


def command() -> str:
    """The path of this installation's `zapomni`."""
    beside = shutil.which("zapomni", path=str(Path(sys.executable).parent))
    return beside or str(Path(sys.argv[0]).resolve())


async def call(client: "Client", tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool, or a RuntimeError with what it said."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(result.content[0].text)  # type: ignore[union-attr]  # our tools answer with text
    return result.structured_content or {}
