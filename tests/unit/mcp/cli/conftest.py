"""Fixtures that run the command line, in this process or a separate one, isolated from the user's files."""

import json
import logging
import os
import pty
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import OTHERS
from zapomni_mcp.cli.root import cli

BROKEN = Path(__file__).parents[3] / "broken_plugins"
EMBEDDERS = """
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder

@hookimpl
def zapomni_providers():
    return [
        Provider(kind="embedder", name="hashing", factory=lambda _: HashingEmbedder()),
        Provider(kind="embedder", name="another", factory=lambda _: HashingEmbedder(64, name="another")),
        Provider(kind="embedder", name="misnamed", factory=lambda _: HashingEmbedder(64, name="other")),
    ]
"""
START = "from zapomni_mcp.cli import main; main()"
SEVERAL_COMMANDS = """
import json, sys
from zapomni_mcp import process
from zapomni_mcp.cli import main

process.EXIT_SECONDS = 3600
codes = []
for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as error:
        codes.append(error.code)
print(json.dumps({"codes": codes, "modules": list(sys.modules)}), file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A separate home directory for every test."""
    for name in os.environ:
        if name.upper().startswith("ZAPOMNI_") or name in {"COLUMNS", "FORCE_COLOR", *OTHERS}:
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for kind in ("config", "data", "cache"):
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", str(folder / kind))
    return folder


@pytest.fixture(autouse=True)
def process_stays(monkeypatch):
    """Keeps commands from ending this process shortly after they finish."""
    monkeypatch.setattr("zapomni_mcp.process.EXIT_SECONDS", 3600)


@pytest.fixture(autouse=True)
def logging_restored():
    root, ours = logging.getLogger(), logging.getLogger("zapomni")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    ours.handlers.clear()
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    logging.captureWarnings(capture=False)
    logging.raiseExceptions = True


@pytest.fixture
def settings_file(home):
    """Write the settings file."""

    def write(text):
        file = home / "config" / "zapomni" / "zapomni.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    return write


@pytest.fixture
def plugin_file(tmp_path):
    """Write a plugin file; returns its path."""

    def write(name, source):
        file = tmp_path / f"{name}.py"
        header = "from zapomni_core.plugin import ToolResult, current_call, hookimpl, tool\n"
        file.write_text(header + textwrap.dedent(source))
        return str(file)

    return write


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Create the metadata of an installed distribution with one plugin."""

    def install(name, source="", requires=(), plugin=None):
        site = tmp_path / "site"
        info = site / f"{name}-1.2.dist-info"
        info.mkdir(parents=True)
        (site / f"{name}_module.py").write_text(textwrap.dedent(source))
        lines = [f"Requires-Dist: {one}" for one in requires]
        (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.2", *lines]))
        (info / "entry_points.txt").write_text(f"[zapomni.plugins]\n{plugin or name} = {name}_module\n")
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setenv("PYTHONPATH", str(site))
        return site

    return install


@pytest.fixture
def run():
    """Run a command in this process."""

    def invoke(*args, **options):
        return CliRunner().invoke(cli, args, prog_name="zapomni", **options)

    return invoke


@pytest.fixture
def start(tmp_path):
    """Start a command in a separate process."""
    started = []

    def popen(*args, start=START, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        process = subprocess.Popen([sys.executable, "-c", start, *args], text=True, cwd=tmp_path, **pipes)
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def embedders(plugin_file, monkeypatch):
    """A plugin with two fast embedders (`hashing` is configured) and one whose identity has another name."""
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "hashing")
    monkeypatch.setenv("ZAPOMNI_PLUGINS__IMPORT_SECONDS", "60")
    return plugin_file("embedders", EMBEDDERS)


@pytest.fixture
def zapomni(run, embedders, tmp_path, monkeypatch):
    """Run a command on memories, in an empty directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return lambda *args, **options: run("--plugin", embedders, *args, **options)


@pytest.fixture
def zapomni_on_terminal(zapomni):
    """Run a command on memories with a terminal as its standard input; `typed` waits there."""

    def call(*args, typed=""):
        master, terminal = pty.openpty()
        os.write(master, typed.encode())
        with os.fdopen(terminal, "rb", buffering=0) as keyboard:
            result = zapomni(*args, input=keyboard)
        os.close(master)
        return result

    return call


@pytest.fixture
def document(zapomni):
    """Run a command with --json; returns the document."""
    return lambda *args, **options: json.loads(zapomni(*args, "--json", **options).stdout)


@pytest.fixture
def remember(document):
    """Add a text; returns its id."""
    return lambda text, *args: document("add", text, *args)["memory_id"]


@pytest.fixture
def store(zapomni):
    """Store a message or a document; returns its id."""

    def call(tool, **arguments):
        result = json.loads(zapomni("call", tool, json.dumps(arguments), "--json").stdout)
        return result["structuredContent"]["episode_id"]

    return call


def broken(name):
    """The file of one of the broken plugins."""
    return str(next((BROKEN / name).glob("*.py")))


def shown_on_a_terminal(start, *args, given=""):
    """Run a command with a terminal as standard error; returns the output there."""
    master, terminal = pty.openpty()
    process = start(*args, stderr=terminal)
    os.close(terminal)
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None  # `communicate` would flush it
    shown = bytearray()
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while data := os.read(master, 100_000):
            shown += data
    os.close(master)
    return shown.decode()


def finish(process, given=""):
    """The exit code, standard output and standard error of a process once it has ended."""
    output, errors = process.communicate(given, timeout=60)
    return process.returncode, output, errors


def imported_modules(start, commands, codes=None):
    """The modules that commands import, one after the other in one process."""
    _, _, errors = finish(start(json.dumps(commands), start=SEVERAL_COMMANDS))
    last = json.loads(errors.splitlines()[-1])
    assert len(last["codes"]) == len(commands)
    assert codes in (None, last["codes"])
    return set(last["modules"])
