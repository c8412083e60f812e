"""The settings in effect, and the completion scripts."""

import json
import os

import pytest

from .conftest import finish


def test_every_setting_is_shown_with_its_origin(run, settings_file, monkeypatch):
    file = settings_file('workspace = "work"\n[llm]\napi_key = "sesame"')
    monkeypatch.setenv("ZAPOMNI_LOG_LEVEL", "info")
    text = run("config").stdout
    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["Settings", "file:", str(file)]
    assert ["workspace", "the", "file", "work"] in rows
    assert ["log_level", "ZAPOMNI_LOG_LEVEL", "INFO"] in rows
    assert ["llm.api_key", "the", "file", "********"] in rows
    assert "sesame" not in text


def test_values_are_shown_in_full(run, monkeypatch):
    store = f"sqlite:///{'a-long-name/' * 20}memory.db"
    monkeypatch.setenv("ZAPOMNI_STORE", store)
    rows = [line.split() for line in run("config", env={"COLUMNS": "40"}).stdout.splitlines()]
    assert ["store", "ZAPOMNI_STORE", store] in rows


def test_the_file_that_would_be_read_is_named(run, home):
    assert f"{home}/config/zapomni/zapomni.toml (" in run("config", env={"COLUMNS": "200"}).stdout


def test_the_json_document_names_file_and_settings(run, settings_file):
    file = settings_file('workspace = "work"')
    document = json.loads(run("config", "--json").stdout)
    assert (document["file"], document["exists"]) == (str(file), True)
    assert {"key": "workspace", "value": "work", "origin": str(file)} in document["settings"]


def test_without_a_home_variable_the_user_database_supplies_the_directory(start, monkeypatch, home):
    monkeypatch.delenv("HOME")
    code, _, errors = finish(start("config"))
    assert code == 0, errors


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_completion_script(run, shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_ZAPOMNI_COMPLETE" in result.output


def test_an_unknown_shell_is_a_usage_error(run):
    assert run("completion", "tcsh").exit_code == 2


def test_the_names_of_plugins_are_completed(start):
    words = {"_ZAPOMNI_COMPLETE": "bash_complete", "COMP_WORDS": "zapomni plugins show he", "COMP_CWORD": "3"}
    code, output, errors = finish(start(env={**os.environ, **words}))
    assert (code, output) == (0, "plain,hello\n"), errors


def test_variables_that_choose_the_store_and_those_without_effect_are_named(run, monkeypatch):
    monkeypatch.setenv("GRAPH_NAME", "notes")
    result = run("config")
    assert "GRAPH_NAME has no effect" in result.stderr
    assert json.loads(run("config", "--json").stdout)["unused"][0]["variable"] == "GRAPH_NAME"
    monkeypatch.setenv("FALKORDB_HOST", "localhost")
    result = run("config")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["store", "FALKORDB_HOST,", "GRAPH_NAME", "falkordb://localhost:6379/notes"] in rows
    assert result.stderr == ""
