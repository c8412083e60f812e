"""A server process on raw pipes, with a small JSON-RPC client that gives access to every byte of its output."""

import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

SECONDS = 90.0
"""The limit of every wait; only something broken takes that long."""

ZAPOMNI = Path(sys.executable).with_name("zapomni")
HASHING = Path(__file__).with_name("hashing_embedder.py")
"""The plugin with the embedder `hashing`, which takes no time to load."""

_GRACE_SECONDS = 5.0
_CHUNK = 2**20
_KEPT = ("PATH", "COVERAGE")
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw pipes", "version": "1"},
}


def environment(home: Path, **variables: str) -> dict[str, str]:
    """A minimal environment: PATH, coverage's variables, a home of its own, a generous import limit, and these variables."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    return kept | folders | {"HOME": str(home), "ZAPOMNI_PLUGINS__IMPORT_SECONDS": "60"} | variables


class StdioServer:
    """A server and its pipes. Every line that it writes must be a JSON-RPC message."""

    def __init__(self, command: Sequence[object], *, env: Mapping[str, str], cwd: Path, log: Path) -> None:
        self.messages: list[dict[str, Any]] = []
        self._log = log
        self._ids = count(1)
        self._read = bytearray()
        self._searched = 0
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=dict(env),
                cwd=cwd,
                bufsize=0,
                start_new_session=True,
            )

    def end(self) -> None:
        """End the server and its children: wait for it, then kill it.

        The process is the leader of its group, and its id cannot be reused before `wait`.
        """
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_GRACE_SECONDS)
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def initialize(self) -> dict[str, Any]:
        """Do the handshake of the legacy era and return its result."""
        answer = self.ask("initialize", HANDSHAKE)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def send(self, message: Mapping[str, Any] | bytes, seconds: float = SECONDS) -> None:
        """Send one line. Bytes are sent unchanged and need their own newline."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        fd, rest, deadline = self.process.stdin.fileno(), memoryview(data), time.monotonic() + seconds
        os.set_blocking(fd, False)
        while rest:
            _, writable, _ = select.select([], [fd], [], max(0.0, deadline - time.monotonic()))
            assert writable, f"the server has taken nothing for {seconds:g} s\n{self.log_text()}"
            rest = rest[os.write(fd, rest) :]

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, key: int | str | None = None
    ) -> int | str:
        """Send a request without waiting and return its id."""
        key = next(self._ids) if key is None else key
        self.send({"jsonrpc": "2.0", "id": key, "method": method, "params": params or {}})
        return key

    def request_call(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> int | str:
        """Send a tool call without waiting and return its id."""
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}}, **options)

    def answer(self, key: int | str | None, seconds: float = SECONDS) -> dict[str, Any]:
        """Wait for the answer to a request; other messages are kept in `messages`."""
        deadline = time.monotonic() + seconds
        while True:
            for message in self.messages:
                if "method" not in message and "id" in message and message["id"] == key:
                    self.messages.remove(message)
                    return message
            message = self._next(deadline)
            assert message is not None, f"the server ended without an answer to {key!r}\n{self.log_text()}"
            self.messages.append(message)

    def ask(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        return self.answer(self.request(method, params, **options))

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        answer = self.answer(self.request_call(tool, arguments, **options))
        assert "result" in answer, answer
        return answer["result"]

    def rest(self, seconds: float = SECONDS) -> list[dict[str, Any]]:
        """Read to the end of the server's output and return all messages that were not taken yet."""
        deadline = time.monotonic() + seconds
        while (message := self._next(deadline)) is not None:
            self.messages.append(message)
        return self.messages

    def wait(self, seconds: float = SECONDS) -> int:
        """Wait for the server to end and return its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server is still there after {seconds:g} s\n{self.log_text()}") from None

    def close(self) -> int:
        """Close its input, wait for it to end, and return its exit code."""
        self.process.stdin.close()
        self.rest()
        return self.wait()

    @property
    def unread_bytes(self) -> int:
        """The number of bytes in the server's output pipe."""
        return struct.unpack("i", fcntl.ioctl(self.process.stdout, termios.FIONREAD, b"\0" * 4))[0]

    def log_text(self) -> str:
        return self._log.read_text(errors="replace")

    def log(self, event: str) -> list[dict[str, Any]]:
        """The log records of an event."""
        return [record for record in _records(self.log_text()) if record.get("event") == event]

    def logged(self, event: str, seconds: float = SECONDS, **fields: Any) -> dict[str, Any]:
        """Wait for a log record of an event with these fields."""

        def find() -> dict[str, Any] | None:
            return next((record for record in self.log(event) if fields.items() <= record.items()), None)

        return eventually(find, f"a record of {event} with {fields}", seconds, otherwise=self.log_text)

    def _next(self, deadline: float) -> dict[str, Any] | None:
        while (end := self._read.find(b"\n", self._searched)) < 0:
            self._searched = len(self._read)
            if not self._fill(deadline):
                assert not self._read, f"the output ends in the middle of a line: {bytes(self._read[:200])!r}"
                return None
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        self._searched = 0
        return as_message(line)

    def _fill(self, deadline: float) -> bool:
        fd = self.process.stdout.fileno()
        readable, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"the server has said nothing in time\n{self.log_text()}"
        data = os.read(fd, _CHUNK)
        self._read += data
        return bool(data)


Start = Callable[..., StdioServer]


@contextmanager
def start_servers(folder: Path) -> Iterator[Start]:
    """Yield a function that starts servers in a folder; they are ended on exit."""
    numbers = count(1)
    with ExitStack() as servers:

        def start(*command: object, cwd: Path = folder, **variables: str) -> StdioServer:
            log = folder / f"server-{next(numbers)}.log"
            server = StdioServer(command, env=environment(folder / "home", **variables), cwd=cwd, log=log)
            servers.callback(server.end)
            return server

        yield start


def as_message(line: bytes) -> dict[str, Any]:
    """Parse a line, which must hold a JSON-RPC message."""
    try:
        message = json.loads(line.decode())
    except ValueError:
        raise AssertionError(f"not JSON: {line[:200]!r}") from None
    assert isinstance(message, dict), message
    assert message.get("jsonrpc") == "2.0", message
    assert len(message.keys() & {"method", "result", "error"}) == 1, message
    return message


def text_of(result: Mapping[str, Any]) -> str:
    """The readable text of a result."""
    return "".join(part["text"] for part in result["content"])


def eventually(
    find: Callable[[], Any], what: str, seconds: float = SECONDS, *, otherwise: Callable[[], str] = lambda: ""
) -> Any:
    """Poll `find` until it returns something true."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < deadline, f"there is still no {what} after {seconds:g} s\n{otherwise()}"
        time.sleep(0.02)
    return found


def _records(log: str) -> Iterator[dict[str, Any]]:
    for line in log.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # what a plugin wrote itself
        if isinstance(record, dict):
            yield record
