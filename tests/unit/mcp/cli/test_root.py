"""The `zapomni` command: its imports, errors and exit codes."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import START, finish, imported_modules

COMMANDS = [
    ["--version"],
    ["--help"],
    ["plugins"],
    ["plugins", "--no-load"],
    ["plugins", "show", "hello"],
    ["plugins", "check"],
    ["plugins", "disable", "hello"],
    ["plugins", "enable", "hello"],
    ["tools"],
    ["call", "hello"],
    ["doctor"],
    ["config"],
    ["completion", "zsh"],
]
FULL = Path("/dev/full")


def test_the_version_is_that_of_the_distribution(run):
    assert run("--version").output == "zapomni 0.1.0\n"


def test_the_help_names_every_command(run):
    result = run("--help")
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.output.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()]
    on_memories = ["add", "search", "list", "get", "edit", "history", "delete", "restore", "purge", "stats", "jobs"]
    on_memories += ["backup", "restore-backup", "export", "import", "reindex", "embedders"]
    assert names == ["serve", *on_memories, "plugins", "tools", "call", "doctor", "config", "demo", "completion"]


def test_no_command_but_serve_imports_the_sdk(start):
    assert "mcp" not in imported_modules(start, COMMANDS, codes=[0] * len(COMMANDS))


def test_help_and_version_import_nothing_heavy(start):
    modules = imported_modules(start, [["--version"], ["--help"], ["plugins", "--help"]], codes=[0, 0, 0])
    assert not {"pydantic", "rich", "pluggy", "jsonschema"} & modules


def test_rich_is_imported_only_for_tables(start):
    commands = [[command, "--json"] for command in ("plugins", "tools", "config", "doctor")]
    assert "rich" not in imported_modules(start, commands, codes=[0, 0, 0, 0])


def test_without_a_command_and_a_terminal_it_serves(start):
    code, output, errors = finish(start(), '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    assert (code, output.strip()) == (0, '{"jsonrpc":"2.0","id":1,"result":{}}'), errors


def test_without_a_command_on_a_terminal_it_shows_its_help(start):
    master, terminal = pty.openpty()
    code, output, _ = finish(start(stdin=terminal), None)
    os.close(master)
    os.close(terminal)
    assert code == 0
    assert output.startswith("Usage: zapomni")


def test_each_wrong_setting_is_reported_in_one_line(run, settings_file):
    settings_file("workspce = 'x'\nlog_level = 'LOUD'")
    result = run("tools")
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("Error: ") for line in lines)
    assert "did you mean 'workspace'?" in result.stderr


def test_options_are_accepted_before_and_after_the_command(run, plugin_file, tmp_path):
    first = plugin_file("first", "@hookimpl\ndef zapomni_tools(): return []")
    second = plugin_file("second", "@hookimpl\ndef zapomni_tools(): return []")
    listed = run("--plugin", first, "plugins", "--plugin", second).output
    assert "first" in listed
    assert "second" in listed
    missing = str(tmp_path / "none.toml")
    assert run("--config", missing, "tools").stderr == run("tools", "--config", missing).stderr != ""


def test_an_env_file_adds_variables(run, tmp_path):
    (tmp_path / "env").write_text("ZAPOMNI_PLUGINS__HELLO__GREETING=Ahoj\n")
    assert run("--env-file", str(tmp_path / "env"), "call", "hello").output == "Ahoj, world!\n"


def test_safe_mode_loads_only_the_given_files(run, plugin_file):
    file = plugin_file("alone", "@hookimpl\ndef zapomni_tools(): return []")
    rows = run("--no-plugins", "plugins", "--plugin", file).output.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["alone"]


def test_safe_mode_names_the_option_that_excludes_a_required_plugin(run, settings_file):
    settings_file('[plugins]\nrequire = ["hello"]')
    result = run("--no-plugins", "tools")
    assert result.exit_code == 2
    assert "--no-plugins" in result.stderr


def test_strict_treats_a_failed_plugin_as_an_error(run, installed):
    installed("strictly_broken", "import nothing_of_that_name")
    assert run("tools").exit_code == 0
    result = run("--strict", "tools")
    assert result.exit_code == 2
    assert "plugin 'strictly_broken' failed at import" in result.stderr


def test_a_missing_plugin_file_is_a_usage_error(run):
    assert run("--plugin", "none.py", "tools").exit_code == 2


INTERRUPTED_IMPORT = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
"""


def test_ctrl_c_is_quiet_while_the_commands_are_imported(start):
    assert finish(start("stats", start=INTERRUPTED_IMPORT + START)) == (130, "", "")


def test_ctrl_c_ends_a_command_quietly_with_130(start, plugin_file):
    source = """
    import asyncio

    @tool
    async def wait() -> str:
        "Wait forever."
        await current_call().progress(1)
        await asyncio.Event().wait()

    @hookimpl
    def zapomni_tools():
        return [wait]
    """
    process = start("call", "wait", "--plugin", plugin_file("waiting", source))
    assert process.stderr.readline() == "1\n"
    process.send_signal(signal.SIGINT)
    assert finish(process, None) == (130, "", "")


@pytest.mark.parametrize("command", ["plugins --json", "config"])
def test_a_closed_pipe_gives_no_traceback(start, command):
    read, write = os.pipe()
    os.close(read)
    code, _, errors = finish(start(*command.split(), stdout=write))
    os.close(write)
    assert (code, errors) == (141, "")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("command", ["stats", "doctor --json"])
def test_a_full_output_device_is_reported_in_one_line(start, command):
    with FULL.open("w") as full:
        code, _, errors = finish(start(*command.split(), stdout=full))
    (line,) = errors.splitlines()
    assert (code, line.startswith("Error: ")) == (1, True)
    assert "No space left on device" in line


@pytest.mark.parametrize("command", ["tools", "serve", "gaps"])
def test_a_closed_standard_output_is_reported_in_one_line(command, tmp_path):
    line = [sys.executable, "-c", "from zapomni_mcp.cli import main; main()", command]
    result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *line], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    (error,) = result.stderr.splitlines()
    assert error.startswith("Error: standard output is closed")
