"""A client on raw pipes, whose own cost is negligible beside that of the server."""

import json
import os
import subprocess
import time
from pathlib import Path

INITIALIZE = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A server process and the pipes to it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and "ZAPOMNI" not in k}
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=inherited | environment,
        )
        self._next = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def request(self, method: str, params: dict | None = None) -> dict:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        return json.loads(self._process.stdout.readline())

    def open(self) -> float:
        """Shake hands and list the tools; returns the seconds since the process was started."""
        self.request(INITIALIZE["method"], INITIALIZE["params"])
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = [tool["name"] for tool in self.request("tools/list")["result"]["tools"]]
        return time.perf_counter() - self.started

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def _send(self, message: dict) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
