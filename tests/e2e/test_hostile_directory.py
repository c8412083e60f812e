"""A server that is started inside a hostile project reads nothing in it."""

import sys
from pathlib import Path

import pytest

from tests.e2e.stdio_server import ZAPOMNI, text_of

COMMANDS = {
    "console script": [ZAPOMNI],
    "python -m": [sys.executable, "-m", "zapomni_mcp.server"],
}
SHADOWS = [
    "evil",
    "typing",
    "json",
    "structlog",
    "zapomni_core",
    "zapomni_plugin_hello",
    "pluggy",
    "tomllib",
    "sitecustomize",
]

EVIL = """
import pathlib
pathlib.Path({marker!r}).touch()
raise SystemExit("the hostile project has taken over")
"""
ENTRY_POINTS = """
[zapomni.plugins]
evil = evil
"""


@pytest.fixture
def project(tmp_path):
    """A project in which every file that could be read or imported writes a marker."""
    project, markers = tmp_path / "project", tmp_path / "markers"
    markers.mkdir()
    metadata = project / "evil-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    for name in SHADOWS:
        (project / f"{name}.py").write_text(EVIL.format(marker=str(markers / name)))
    (project / "zapomni.toml").write_text('[plugins.hello]\ngreeting = "From zapomni.toml"\n')
    (project / ".env").write_text("ZAPOMNI_PLUGINS__HELLO__GREETING=From .env\n")
    for folder in (project / "config", project / ".config"):
        (folder / "zapomni").mkdir(parents=True)
        (folder / "zapomni" / "zapomni.toml").write_text('[plugins.hello]\ngreeting = "From a folder"\n')
    return project


def sprung(project):
    """The markers that were written."""
    return [marker.name for marker in (project.parent / "markers").iterdir()]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_nothing_in_the_working_directory_is_read(project, start, command):
    server = start(*command, cwd=project)
    server.initialize()
    assert text_of(server.call("hello")) == "Hello, world!"
    assert "evil" not in {tool["_meta"]["zapomni/plugin"] for tool in server.ask("tools/list")["result"]["tools"]}
    assert server.close() == 0
    assert sprung(project) == []


def test_python_without_protection_would_import_from_the_working_directory(project, start):
    """Else the test above could not fail."""
    server = start(sys.executable, "-c", "import evil", cwd=project)
    assert server.wait() != 0
    assert sprung(project) == ["evil"]


def test_a_plugin_file_in_the_working_directory_is_loaded_if_the_user_names_it(project, start):
    (project / "mine.py").write_text(Path(__file__).with_name("slow_tools.py").read_text())
    server = start(ZAPOMNI, "serve", "--plugin", "mine.py", cwd=project)
    server.initialize()
    plugins = {tool["name"]: tool["_meta"]["zapomni/plugin"] for tool in server.ask("tools/list")["result"]["tools"]}
    assert plugins["slow"] == "mine"
