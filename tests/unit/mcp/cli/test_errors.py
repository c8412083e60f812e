"""Errors and logs of commands."""

import json

import pytest

from .conftest import finish, shown_on_a_terminal


def test_the_error_of_an_unknown_store_names_failed_plugins(zapomni, installed, monkeypatch):
    installed("brings_a_store", "import nothing_of_that_name")
    monkeypatch.setenv("ZAPOMNI_STORE", "nowhere://x")
    assert "1 failed (brings_a_store), run: zapomni doctor" in zapomni("stats").stderr


def test_the_error_of_a_missing_embedder_names_failed_plugins(remember, run, installed, monkeypatch):
    remember("word")
    monkeypatch.delenv("ZAPOMNI_EMBEDDER")
    installed("brings_an_embedder", "import nothing_of_that_name")
    assert "1 failed (brings_an_embedder), run: zapomni doctor" in run("reindex").stderr


def test_a_memory_added_while_the_embedder_fails_is_stored_with_the_reason(run, plugin_file, monkeypatch):
    source = """
    from zapomni_core.errors import ProcessingError
    from zapomni_core.providers import Provider
    from zapomni_core.testing.embedder import HashingEmbedder

    class Failing(HashingEmbedder):
        async def embed(self, texts, **options):
            raise ProcessingError("The embedder is on strike")

    @hookimpl
    def zapomni_providers():
        return [Provider(kind="embedder", name="failing", factory=lambda _: Failing(name="failing"))]
    """
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "failing")
    result = run("add", "x", "--plugin", plugin_file("failing", source))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "The embedder is on strike" in result.stdout.splitlines()[-1]


FAILING = """
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder

class Failing(HashingEmbedder):
    async def embed(self, texts, **options):
        raise RuntimeError("no weights on this disk")

@hookimpl
def zapomni_providers():
    return [Provider(kind="embedder", name="failing", factory=lambda _: Failing(name="failing"))]
"""


@pytest.fixture
def failing(plugin_file, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "failing")
    monkeypatch.setenv("ZAPOMNI_PLUGINS__IMPORT_SECONDS", "60")
    return plugin_file("failing", FAILING)


def test_reindexing_with_a_failing_embedder_shows_the_cause(start, failing):
    assert finish(start("add", "x", "--plugin", failing))[0] == 0
    code, output, errors = finish(start("reindex", "--plugin", failing))
    assert (code, output) == (1, "")
    assert "'failing'" in errors
    assert "no weights on this disk" in errors
    assert "Traceback" not in errors
    assert "the log" not in errors


@pytest.mark.parametrize("command", [["add", "x"], ["call", "add_memory", '{"text": "x"}']], ids=["add", "call"])
def test_a_log_on_a_terminal_is_readable_with_its_traceback(start, failing, monkeypatch, command):
    monkeypatch.setenv("LOG_LEVEL", "INFO")
    shown = shown_on_a_terminal(start, *command, "--plugin", failing)
    assert "ERROR" in shown
    assert "Traceback (most recent call last):" in shown.splitlines()
    assert "RuntimeError: no weights on this disk" in shown.splitlines()
    assert [line for line in shown.splitlines() if line.startswith("{")] == []


def test_an_invalid_argument_is_logged_readably_on_a_terminal(start, embedders):
    shown = shown_on_a_terminal(start, "call", "add_memory", '{"text": ""}', "--plugin", embedders)
    (line,) = (line for line in shown.splitlines() if "validation_error" in line)
    assert "WARNING" in line
    assert "field=text" in line
    assert not line.startswith("{")


def test_without_a_terminal_the_log_is_json(start, embedders):
    _, _, errors = finish(start("call", "add_memory", '{"text": ""}', "--plugin", embedders))
    assert "validation_error" in [json.loads(line)["event"] for line in errors.splitlines()]


ANOTHER = """
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder

@hookimpl
def zapomni_providers():
    return [Provider(kind="embedder", name="another", factory=lambda _: HashingEmbedder(64, name="another"))]
"""


def test_without_its_embedder_a_store_is_searched_by_words_until_it_is_reindexed(
    remember, run, plugin_file, monkeypatch
):
    remember("word")
    monkeypatch.delenv("ZAPOMNI_EMBEDDER")
    another = ("--plugin", plugin_file("another", ANOTHER))
    result = run(*another, "reindex")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "embedder 'hashing'" in result.stderr
    assert "embedder 'hashing'" in run(*another, "add", "another word").stdout
    found = run(*another, "search", "word")
    assert found.exit_code == 0
    assert "Only words were searched" in found.stdout
    assert "embedder 'hashing'" in found.stdout
    assert run(*another, "reindex", "--embedder", "another").exit_code == 0
    assert "Only words" not in run(*another, "search", "word").stdout


def test_another_embedder_than_that_of_the_store_is_reported_with_the_command_to_run(zapomni, remember, monkeypatch):
    remember("word")
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "another")
    result = zapomni("search", "word")
    assert result.exit_code == 1
    assert "run: zapomni reindex --embedder another" in result.stderr


@pytest.mark.parametrize("command", [["add", "word"], ["serve"]], ids=["add", "serve"])
def test_an_embedder_whose_identity_has_another_name_is_refused_before_anything_is_stored(
    start, embedders, home, monkeypatch, command
):
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "misnamed")
    add = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add_memory"}}
    add["params"]["arguments"] = {"text": "word"}
    code, output, errors = finish(start(*command, "--plugin", embedders), json.dumps(add) + "\n")
    assert (code, output) == (2, "")
    for part in ("'misnamed' of plugin 'embedders'", "'other'", "choose another embedder"):
        assert part in errors
    assert not list(home.rglob("*.db"))
