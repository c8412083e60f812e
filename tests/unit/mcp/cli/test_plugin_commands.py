"""Commands of plugins."""

from pathlib import Path

import pytest

from zapomni_core.host.commands import OWN
from zapomni_mcp.cli.root import cli

from .conftest import finish

GREETING = """
from zapomni_core.errors import EmbedderMissingError, LLMUnavailableError
from zapomni_core.http import ProviderFailure

print("noise while it is loaded")

@hookimpl
def zapomni_commands(engine, settings):
    import asyncio
    import click

    @click.command()
    @click.option("--fail", type=click.Choice(["input", "store", "model", "embedder", "bug"]))
    def {name}(fail):
        "Count what is there."
        if fail == "input":
            asyncio.run(engine.search_memory(" "))
        if fail == "store":
            asyncio.run(engine.get_memory("nowhere"))
        if fail == "model":
            failure = ProviderFailure("NETWORK", "The model is away.", recoverable=True, suggestion="Wait.")
            raise LLMUnavailableError(failure)
        if fail == "embedder":
            raise EmbedderMissingError("tiny")
        if fail == "bug":
            raise RuntimeError("a bug")
        stats = asyncio.run(engine.get_stats())
        click.echo(f"{{stats.total_memories}} in {{stats.graph_name}}")

    return [{name}]
"""


CHATTY = """
@hookimpl
def zapomni_commands():
    import click

    @click.command()
    def chat():
        {source}

    return [chat]
"""


@pytest.fixture
def greeting(plugin_file):
    return plugin_file("greeting", GREETING.format(name="greet"))


def test_reserved_command_names_match_the_existing_commands():
    assert set(cli.commands) == OWN


def test_a_command_of_a_plugin_runs_with_the_engine_and_prints_only_its_own_output(start, greeting):
    code, output, errors = finish(start("--plugin", greeting, "greet"))
    assert (code, output) == (0, "0 in default\n")
    assert "noise while it is loaded" in errors


def test_the_help_of_a_plugin_command_is_shown(run, greeting):
    assert "Count what is there." in run("--plugin", greeting, "greet", "--help").output


@pytest.mark.parametrize(("failure", "code"), [("input", 2), ("store", 1), ("model", 1), ("embedder", 2)])
def test_a_plugin_command_fails_like_a_built_in_command(run, greeting, failure, code):
    result = run("--plugin", greeting, "greet", "--fail", failure)
    assert result.exit_code == code
    assert result.output.splitlines()[-1].startswith("Error: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("source", ["click.echo('much')", "print('much', end='')"], ids=["a line", "no line"])
def test_output_that_cannot_be_written_is_an_error(plugin_file, start, source):
    file = plugin_file("chatty", CHATTY.format(source=source))
    with Path("/dev/full").open("w") as full:
        code, _, errors = finish(start("--plugin", file, "chat", stdout=full))
    (line,) = errors.splitlines()
    assert (code, line.startswith("Error: ")) == (1, True)
    assert "No space left on device" in line


def test_an_unexpected_exception_of_a_plugin_command_is_raised(run, greeting):
    assert isinstance(run("--plugin", greeting, "greet", "--fail", "bug").exception, RuntimeError)


def test_an_unknown_command_is_reported(run):
    result = run("nonsense")
    assert result.exit_code == 2
    assert "No such command 'nonsense'." in result.output


def test_the_plugin_is_shown_with_its_commands(run, greeting):
    assert "  commands      greet\n" in run("--plugin", greeting, "plugins", "show", "greeting").output


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (GREETING.format(name="search"), "command 'search'"),
        (
            "@hookimpl\ndef zapomni_commands():\n    return [lambda: 1]\n",
            "click.Command",
        ),
        (
            "import click\n@hookimpl\ndef zapomni_commands():\n    return [click.Command('Not So')]\n",
            "command 'Not So'",
        ),
        (
            "import click\n@hookimpl\ndef zapomni_commands():\n    return [click.Command('a'), click.Command('a')]\n",
            "named 'a'",
        ),
    ],
    ids=["a built-in name", "not a command", "an invalid name", "twice"],
)
def test_an_invalid_command_is_refused_with_its_plugin(run, plugin_file, source, cause):
    result = run("--plugin", plugin_file("odd", source), "plugins")
    assert "fail odd at commands: " in " ".join(result.output.split())
    assert cause in " ".join(result.output.split())


def test_the_first_of_two_plugins_keeps_a_command(run, plugin_file):
    first, second = (plugin_file(name, GREETING.format(name="greet")) for name in ("first", "second"))
    result = run("--plugin", first, "--plugin", second, "plugins")
    output = " ".join(result.output.split())
    assert "fail second at commands: " in output
    assert "plugin 'first'" in output


def test_completing_a_shell_loads_no_plugin(run, greeting, monkeypatch):
    monkeypatch.setenv("_ZAPOMNI_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"zapomni --plugin {greeting} greet ")
    monkeypatch.setenv("COMP_CWORD", "4")
    result = run()
    assert "noise" not in result.output
