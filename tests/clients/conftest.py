"""Clients as their users have them: each installed once, by itself, into a folder outside of this tree."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from platformdirs import user_cache_path

INSTALLED = user_cache_path("zapomni-clients")
ZAPOMNI = str(Path(sys.executable).with_name("zapomni"))
NODE = ("node", "node@22")


def installed(name, install):
    """The folder of a client; `install` fills it if it is not there."""
    folder = INSTALLED / name
    done = folder / "installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install(folder)
        done.touch()
    return folder


def python_with(name, *packages):
    """A Python that has these packages."""

    def install(folder):
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *packages], check=True, stdin=subprocess.DEVNULL)

    return installed(name, install) / "venv" / "bin" / "python"


def programs_of(name, package):
    """The folder with the programs of an npm package."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.fail("the clients need npm")

    def install(folder):
        subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package], check=True)

    return installed(name, install) / "node_modules" / ".bin"


@pytest.fixture
def home(tmp_path):
    """A user's empty directory, with settings and a project."""
    (tmp_path / "zapomni.toml").write_text(f"store = {json.dumps(f'sqlite://{tmp_path}/memory.db')}\n")
    (tmp_path / "project").mkdir()
    return tmp_path


@pytest.fixture
def run(home):
    """Runs a program of a client as that user, with nothing else of the environment; its exit code and its output."""

    def run(*command, **environment):
        node = programs_of(*NODE)
        base = {
            "HOME": str(home),
            "PATH": os.pathsep.join([str(node), os.environ["PATH"]]),
            "TERM": "dumb",
            "ZAPOMNI_CONFIG": str(home / "zapomni.toml"),
        }
        process = subprocess.run(
            list(map(str, command)),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            cwd=home / "project",
            env=base | environment,
        )
        return process.returncode, process.stdout

    return run


class Recorder(BaseHTTPRequestHandler):
    """Keeps every request for an answer of a model, and refuses it."""

    def do_POST(self):
        """Keep the request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append(body.decode())
        self._send(400, {"error": {"type": "invalid_request_error", "message": "no model is here", "code": 400}})

    def do_GET(self):
        """List no models."""
        self._send(200, {"data": [], "models": []})

    def _send(self, status, document):
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def model():
    """A local stand-in for a model: `url`, and `requests`, what clients would have sent to it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.requests, server.url = [], f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
