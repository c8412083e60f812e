"""Listing, showing, checking and switching plugins."""

import json
import tomllib

import pytest

from .conftest import broken, finish

LOADING = "{'zapomni_plugin_hello', 'zapomni_plugin_audit'} & set(sys.modules)"

SECRETIVE = """
from pydantic import BaseModel, Field, SecretStr

class Account(BaseModel):
    number: SecretStr

class Settings(BaseModel):
    pin: SecretStr = SecretStr("0000")
    account: Account | None = None
    address: str = Field(..., description="Where it lives.")
    sizes: list[int] = Field(default_factory=list)
    limits: dict[str, int] = {"low": 1}

@hookimpl
def zapomni_settings():
    return Settings
"""


def row(result, name):
    return next(line.split() for line in result.stdout.splitlines() if line.split()[:1] == [name])


def test_the_table_shows_version_state_tools_and_distribution(run):
    cells = row(run("plugins"), "hello")
    assert cells[:4] == ["hello", "0.1.0", "loaded", "1"]
    assert cells[-1] == "zapomni-plugin-hello"


@pytest.mark.parametrize(
    ("plugin", "stage", "fix"),
    [
        ("import_error", "at import: ModuleNotFoundError", "-m pip install a-library-that-nobody-has"),
        ("misspelt_hook", "at hooks: there is no hook 'zapomni_tool'", "fix: rename it to zapomni_tools"),
        ("exits_at_import", "at import: SystemExit: 3", "fix: "),
        ("duplicate_name", "at tools: tool 'hello' already belongs to plugin 'hello'", "[tools.hello] owner"),
    ],
)
def test_a_failed_plugin_is_shown_with_stage_cause_and_fix_in_80_columns(run, plugin, stage, fix):
    result = run("plugins", "--plugin", broken(plugin))
    assert result.exit_code == 0
    assert row(result, f"broken_{plugin}")[1] == "failed"
    assert stage in " ".join(result.stdout.split())
    assert fix in result.stdout
    assert "run: zapomni doctor" in result.stderr
    assert all(len(line) <= 80 or line.startswith("      fix: ") for line in result.stdout.splitlines())


def test_a_disabled_plugin_is_listed_with_the_command_that_enables_it(run, settings_file):
    settings_file('[plugins]\ndisable = ["hello"]')
    result = run("plugins")
    assert row(result, "hello")[2] == "disabled"
    assert "hello is disabled in the settings" in result.stdout
    assert "fix: zapomni plugins enable hello" in result.stdout


def test_a_slow_import_is_reported(run, plugin_file):
    file = plugin_file("sluggish", "import time\ntime.sleep(0.6)")
    assert "sluggish: its import took" in run("plugins", "--plugin", file).stdout


def test_an_empty_list_of_plugins_is_reported(run):
    assert run("--no-plugins", "plugins").output == "No plugins.\n"


def test_the_json_document_holds_the_whole_report(run):
    plugins = json.loads(run("plugins", "--json").stdout)["plugins"]
    (hello,) = [one for one in plugins if one["name"] == "hello"]
    assert (hello["state"], hello["tools"], hello["cause"]) == ("loaded", ["hello"], None)


def test_output_of_a_plugin_is_not_in_the_json_document(start):
    code, output, errors = finish(start("plugins", "--json", "--plugin", broken("prints_at_import")))
    assert code == 0
    assert "broken_prints_at_import" in [one["name"] for one in json.loads(output)["plugins"]]
    assert "echoed by a child at import" in errors


def test_without_loading_no_plugin_is_imported(start, settings_file):
    settings_file('[plugins]\ndisable = ["audit"]')
    program = f"import sys, zapomni_mcp.cli\ntry: zapomni_mcp.cli.main()\nfinally: print({LOADING}, file=sys.stderr)"
    code, output, errors = finish(start("plugins", "--no-load", "--json", start=program))
    states = {one["name"]: one["state"] for one in json.loads(output)["plugins"]}
    assert (code, errors) == (0, "set()\n")
    assert (states["hello"], states["audit"]) == ("found", "disabled")


def test_without_loading_the_table_has_the_plugins(run):
    assert row(run("plugins", "--no-load"), "hello")[2] == "found"


def test_an_option_of_the_list_before_another_command_is_refused(run):
    result = run("plugins", "--no-load", "check", "hello")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: --no-load ")


def test_logging_is_silent_unless_the_user_set_a_level(run, monkeypatch):
    assert "plugin_failed" not in run("plugins", "--plugin", broken("import_error")).stderr
    monkeypatch.setenv("ZAPOMNI_LOG_LEVEL", "WARNING")
    assert "plugin_failed" in run("plugins", "--plugin", broken("import_error")).stderr


def test_show_lists_the_tools_and_settings_of_a_plugin(run, settings_file):
    file = settings_file('[plugins.hello]\ngreeting = "Hej"')
    text = run("plugins", "show", "zapomni-plugin-hello", env={"COLUMNS": "200"}).stdout
    assert "tools         hello" in text
    assert "state         loaded" in text
    assert "zapomni_plugin_hello/__init__.py" in text
    assert ["greeting", str(file), "Hello", "Hej"] in [line.split() for line in text.splitlines()]
    assert "greeting: The word to greet with." in text


def test_show_masks_secret_settings_of_a_plugin(run, plugin_file, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_PLUGINS__SECRETIVE__PIN", "4711")
    monkeypatch.setenv("ZAPOMNI_PLUGINS__SECRETIVE__ACCOUNT__NUMBER", "4712")
    monkeypatch.setenv("ZAPOMNI_PLUGINS__SECRETIVE__LIMITS", '{"low": 2, "high": 3}')
    result = run(
        "plugins", "show", "secretive", "--plugin", plugin_file("secretive", SECRETIVE), env={"COLUMNS": "200"}
    )
    rows = [line.split() for line in result.stdout.splitlines()]
    assert "471" not in result.output
    assert "0000" not in result.output
    assert ["pin", "ZAPOMNI_PLUGINS__SECRETIVE__PIN", "********", "********"] in rows
    assert ["address", "default", "required", "not", "set"] in rows
    assert ["sizes", "default", "computed", "computed"] in rows
    assert ["limits.high", "ZAPOMNI_PLUGINS__SECRETIVE__LIMITS", '{"low":', "1}", "3"] in rows
    assert "failed at     settings: plugins.secretive.address" in result.stdout


@pytest.mark.parametrize("plugin", ["import_error", "misspelt_hook", "bad_schema"])
def test_show_reports_why_a_plugin_failed(run, plugin):
    text = run("plugins", "show", f"broken_{plugin}", "--plugin", broken(plugin)).stdout
    assert "state         failed" in text
    assert "failed at     " in text
    assert "fix           " in text


def test_show_of_a_file_shows_the_plugin_in_it(run, plugin_file):
    file = plugin_file("secretive", SECRETIVE)
    text = run("plugins", "show", file).stdout
    assert text.startswith("secretive\n  state         failed\n")
    assert f"  source        {file}\n" in text
    assert "Settings, in [plugins.secretive]:" in text


def test_show_does_not_import_a_disabled_plugin(run, installed, settings_file):
    installed("never_imported", "raise AssertionError('imported')")
    settings_file('[plugins]\ndisable = ["never_imported"]')
    text = run("plugins", "show", "never_imported").stdout
    assert "state         disabled\n  because       disabled in the settings" in text
    assert "Settings" not in text


@pytest.mark.parametrize("command", ["show", "check", "enable", "disable"])
def test_an_unknown_name_is_refused_with_the_nearest(run, command, home):
    result = run("plugins", command, "helo")
    assert result.exit_code == 2
    assert "did you mean 'hello'?" in result.stderr
    assert list(home.rglob("*")) == []


def test_check_of_good_plugins_exits_with_0(run):
    result = run("plugins", "check", "hello")
    assert result.exit_code == 0
    assert "ok    plugin hello" in result.stdout
    assert "audit" not in result.stdout


def test_check_of_all_finds_the_one_that_fails(run):
    result = run("plugins", "check", "--plugin", broken("misspelt_hook"))
    assert result.exit_code == 1
    assert "ok    plugin hello" in result.stdout
    assert "fail  plugin broken_misspelt_hook" in result.stdout


def test_check_of_a_file_gives_advice_and_exits_with_0(run):
    result = run("plugins", "check", broken("raising_tool"))
    assert result.exit_code == 0
    assert "warn  tool raising_tool" in result.stdout


def test_check_of_a_file_that_fails_exits_with_1(run):
    assert run("plugins", "check", broken("import_error")).exit_code == 1


LIFESPAN = """
from contextlib import asynccontextmanager
from zapomni_core.plugin import hookimpl

@asynccontextmanager
async def life():
    {before}
    yield
    {after}

@hookimpl
def zapomni_lifespan():
    return life()
"""


def test_a_lifespan_that_fails_is_a_failure_of_its_plugin(run, plugin_file):
    file = plugin_file("ill", LIFESPAN.format(before="raise RuntimeError('no port')", after=""))
    result = run("plugins", "check", file)
    assert result.exit_code == 1
    assert "fail  plugin ill: failed at lifespan: " in result.stdout
    assert "RuntimeError: no port" in result.stdout
    text = " ".join(run("plugins", "--plugin", file).stdout.split())
    assert "ill at lifespan: " in text
    assert "RuntimeError: no port" in text


def test_a_lifespan_that_fails_to_close_is_a_warning(run, plugin_file):
    file = plugin_file("ill", LIFESPAN.format(before="", after="raise RuntimeError('busy')"))
    result = run("plugins", "check", file)
    assert result.exit_code == 0
    assert "warn  plugin ill: " in result.stdout
    assert "RuntimeError: busy" in result.stdout


def test_a_list_of_plugins_opens_no_store(run, home):
    assert run("plugins").exit_code == 0
    assert list(home.rglob("*.db")) == []


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_directory_or_a_missing_file_is_refused(run, tmp_path, command):
    assert "is a directory" in run("plugins", command, f"{tmp_path}/").stderr
    result = run("plugins", command, "none.py")
    assert (result.exit_code, "none.py" in result.stderr) == (2, True)


def test_check_of_a_disabled_plugin_names_the_command_that_enables_it(run, settings_file):
    settings_file('[plugins]\ndisable = ["hello"]')
    result = run("plugins", "check", "hello")
    assert result.exit_code == 1
    assert "zapomni plugins enable hello" in result.stderr


def test_disable_and_enable_edit_the_settings_file_and_report_the_change(run, home):
    file = home / "config" / "zapomni" / "zapomni.toml"
    result = run("plugins", "disable", "zapomni-plugin-hello")
    assert result.exit_code == 0
    assert str(file) in result.output
    assert 'plugins.disable = ["hello"]' in result.output
    assert tomllib.loads(file.read_text()) == {"plugins": {"disable": ["hello"]}}
    assert "plugins.disable = []" in run("plugins", "enable", "hello").output
    assert row(run("plugins"), "hello")[2] == "loaded"


def test_disabling_twice_changes_nothing_and_reports_it(run):
    run("plugins", "disable", "hello")
    assert "Nothing to change" in run("plugins", "disable", "hello").output


@pytest.mark.parametrize(("command", "variable"), [("enable", "DISABLE"), ("disable", "ENABLE")])
def test_a_variable_that_overrides_the_file_is_reported(run, monkeypatch, command, variable):
    monkeypatch.setenv(f"ZAPOMNI_PLUGINS__{variable}", "hello")
    result = run("plugins", command, "hello")
    assert result.exit_code == 0
    assert f"from ZAPOMNI_PLUGINS__{variable}" in result.stderr


def test_a_variable_that_replaces_the_list_in_the_file_is_reported(run, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_PLUGINS__DISABLE", "audit")
    result = run("plugins", "disable", "hello")
    assert "'hello' stays enabled" in result.stderr
    assert "ZAPOMNI_PLUGINS__DISABLE" in result.stderr


def test_show_executes_a_file_once(run, plugin_file, tmp_path):
    source = f"with open({str(tmp_path / 'diary')!r}, 'a') as diary: diary.write('executed ')"
    text = run("plugins", "show", "once", "--plugin", plugin_file("once", source)).stdout
    assert "state         loaded" in text
    assert (tmp_path / "diary").read_text() == "executed "


def test_an_allowlist_without_the_plugin_is_reported(run, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_PLUGINS__POLICY", "allowlist")
    result = run("plugins", "enable", "hello")
    assert "'hello' stays disabled" in result.stderr
    assert "ZAPOMNI_PLUGINS__POLICY" in result.stderr


def test_a_settings_file_that_cannot_be_read_is_not_edited(run, settings_file):
    file = settings_file("nonsense = [")
    assert run("plugins", "disable", "hello").exit_code == 2
    assert file.read_text() == "nonsense = ["
