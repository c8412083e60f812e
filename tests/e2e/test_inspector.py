"""The official MCP Inspector's command line lists and calls a tool, in both protocol eras. Run by `make inspector`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.inspector, pytest.mark.timeout(600)]

PACKAGES = ["node@22", "@modelcontextprotocol/inspector@2.12.0"]
ERAS = ["legacy", "modern"]


@pytest.fixture(scope="module")
def inspector(tmp_path_factory):
    """Runs the Inspector's command line against the real server; returns its exit code and both outputs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.fail("the Inspector needs npm")
    folder = Path(sys.prefix) / "inspector"
    binaries = folder / "node_modules" / ".bin"
    if not (binaries / "mcp-inspector").exists():
        folder.mkdir(exist_ok=True)
        subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES], check=True)
    home = tmp_path_factory.mktemp("inspector")
    (home / "zapomni.toml").touch()
    config = home / "mcp.json"
    entry = {
        "command": str(Path(sys.executable).with_name("zapomni")),
        "args": [],
        "env": {"ZAPOMNI_CONFIG": str(home / "zapomni.toml")},
    }
    config.write_text(json.dumps({"mcpServers": {"zapomni": entry}}))
    command = [
        str(binaries / "node"),
        str(binaries / "mcp-inspector"),
        "--cli",
        "--config",
        str(config),
        "--server",
        "zapomni",
    ]

    def run(era, *arguments):
        process = subprocess.run(
            [*command, "--protocol-era", era, "--format", "json", "-q", *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ
            | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "MCP_INSPECTOR_SECRET_STORE": "memory"},
        )
        return process.returncode, process.stdout, process.stderr

    return run


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_lists_the_tools(inspector, era):
    code, output, errors = inspector(era, "--method", "tools/list")
    assert code == 0, errors
    hello = next(tool for tool in json.loads(output)["result"]["tools"] if tool["name"] == "hello")
    assert hello["inputSchema"]["properties"]["name"]["type"] == "string"
    assert hello["_meta"]["zapomni/plugin"] == "hello"


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_calls_a_tool(inspector, era):
    code, output, errors = inspector(era, "--method", "tools/call", "--tool-name", "hello", "--tool-arg", "name=Ada")
    assert code == 0, errors
    assert json.loads(output)["result"]["content"] == [{"type": "text", "text": "Hello, Ada!"}]


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_shows_wrong_arguments(inspector, era):
    arguments = ["--tool-name", "hello", "--tool-args-json", '{"name": 5}']
    code, output, errors = inspector(era, "--method", "tools/call", *arguments)
    assert code == 5
    assert "name must be string" in output + errors


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_accepts_the_schemas(inspector, era):
    code, _, errors = inspector(era, "--method", "tools/list", "--strict")
    assert code == 0, errors
    assert "Warning" not in errors
