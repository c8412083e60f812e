"""A server in an environment with unrelated broken packages."""

import sys

import pytest

from tests.e2e.stdio_server import ZAPOMNI, text_of

COMMANDS = {
    "console script": [ZAPOMNI],
    "python -m": [sys.executable, "-m", "zapomni_mcp.server"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_server_starts_beside_entry_points_that_cannot_be_read(start, tmp_path, command):
    metadata = tmp_path / "torn-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torn\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[anything]\nwhat is this?\n")
    server = start(*command, PYTHONPATH=str(tmp_path))
    server.initialize()
    assert text_of(server.call("hello")) == "Hello, world!"
    assert "torn-1.0.dist-info" in server.logged("plugin_failed", plugin="torn")["cause"]
    assert server.close() == 0
