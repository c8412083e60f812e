import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from zapomni_core.settings import (
    LLMSettings,
    PluginsSettings,
    Settings,
    TelemetrySettings,
    ToolSettings,
    normalise,
    without_password,
)


def rules(**given) -> dict[str, str]:
    """The message for each invalid key."""
    with pytest.raises(ValidationError) as caught:
        Settings(**given)
    return {".".join(map(str, error["loc"])): error["msg"] for error in caught.value.errors()}


def test_every_setting_has_a_default():
    settings = Settings()
    assert (settings.store, settings.workspace, settings.log_level) == (None, "default", "WARNING")
    assert (settings.plugins.import_seconds, settings.plugins.start_seconds) == (5, 30)


@pytest.mark.parametrize("model", [Settings, LLMSettings, TelemetrySettings, PluginsSettings, ToolSettings])
def test_every_field_is_described(model: type[BaseModel]):
    assert [name for name, field in model.model_fields.items() if not field.description] == []


def test_settings_are_immutable():
    with pytest.raises(ValidationError, match="frozen"):
        Settings().workspace = "other"
    with pytest.raises(ValidationError, match="frozen"):
        Settings().plugins.policy = "allowlist"


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///home/ann/memory.db",
        "sqlite:///C:/Users/ann/memory.db",
        "falkordb://ann:pw@localhost:6379/graph",
        "postgresql://localhost/zapomni",
        "my-plugin+v2.x://",
    ],
)
def test_a_store_is_a_url_whose_scheme_is_a_provider(url):
    assert Settings(store=url).store == url


def test_a_sqlite_url_as_sqlalchemy_writes_it_names_the_same_file():
    assert Settings(store="sqlite:////var/memory.db").store == Settings(store="sqlite:///var/memory.db").store


@pytest.mark.parametrize(
    "path",
    [
        "memory.db",
        "./memory.db",
        "/./memory.db",
        "/../m.db",
        "/~/memory.db",
        "/",
        "/folder/",
        "/:memory:",
        "",
        "//",
        "//~/m.db",
        "///m.db",
    ],
)
def test_a_relative_path_of_sqlite_is_refused_and_the_right_form_shown(path):
    assert "sqlite:///absolute/path.db" in rules(store=f"sqlite://{path}")["store"]


@pytest.mark.parametrize(
    "url", ["falkordb://", "falkordb://h:x/g", "falkordbs://u:hunter2@h:70000/g", "falkordb://h/a/b"]
)
def test_an_invalid_falkordb_url_is_refused(url):
    problem = rules(store=url)["store"]
    assert "must" in problem
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    "value", ["memory.db", "/var/memory.db", "SQLITE:///m.db", "sqlite:/m.db", "1x://", "", "a\n://x"]
)
def test_a_store_must_be_a_url(value):
    assert "store" in rules(store=value)


def test_passwords_are_hidden_in_errors_and_representations():
    with pytest.raises(ValidationError) as caught:
        Settings(store="Postgresql://ann:hunter2@host/db", plugins={"mail": "hunter2"})
    assert "hunter2" not in str(caught.value)
    settings = Settings(
        store="postgresql://ann:hunter2@host/db", plugins={"mail": {"password": "hunter2"}}, llm={"api_key": "hunter2"}
    )
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("workspace", ["", "   ", "a\nb", "a\x00", "a\u2028b", "x" * 65, "\ud800", 5])
def test_a_workspace_is_a_short_readable_name(workspace):
    assert "workspace" in rules(workspace=workspace)


@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=64))
def test_a_workspace_may_be_named_in_any_script(workspace):
    assert Settings(workspace=workspace).workspace == workspace


@pytest.mark.parametrize(
    ("key", "given", "kept"), [("log_level", "debug", "DEBUG"), ("on_llm_unavailable", "FAIL", "fail")]
)
def test_words_are_taken_in_any_case(key, given, kept):
    assert getattr(Settings(**{key: given}), key) == kept


@pytest.mark.parametrize(
    "given", ["hello,zapomni-plugin-audit", " hello , zapomni-plugin-audit,", '["hello", "zapomni-plugin-audit"]']
)
def test_names_come_as_a_list_or_as_a_variable_holds_them(given):
    names = ("hello", "zapomni-plugin-audit")
    assert Settings(plugins={"disable": given}).plugins.disable == names
    assert Settings(plugins={"disable": list(names)}).plugins.disable == names


@pytest.mark.parametrize("given", ["[broken", ["a b"], [""], [5], 5, "hello>=1", ["-x"]])
def test_names_must_be_names(given):
    assert next(iter(rules(plugins={"allow": given}))).startswith("plugins.allow")


def test_a_required_plugin_keeps_its_version():
    assert Settings(plugins={"require": ["memory>=0.1", "hello"]}).plugins.require == ("memory>=0.1", "hello")


def test_every_other_key_of_plugins_is_the_table_of_a_plugin():
    plugins = Settings(plugins={"Zapomni-Plugin.hello": {"greeting": "Hi"}}).plugins
    assert plugins.tables == {"zapomni_plugin_hello": {"greeting": "Hi"}}
    assert plugins.table("zapomni-plugin-hello") == {"greeting": "Hi"}
    assert plugins.table("absent") == {}


def test_a_plugin_gets_a_table_of_its_own_to_change():
    plugins = Settings(plugins={"hello": {"greeting": "Hi"}}).plugins
    plugins.table("hello")["greeting"] = "Bye"
    assert plugins.table("hello") == {"greeting": "Hi"}


@pytest.mark.parametrize("name", ["a__b", "Disable", "import-seconds", "", "a b"])
def test_a_name_that_settings_cannot_hold_is_not_a_plugin_name(name):
    assert "not a valid plugin name" in rules(plugins={name: {}})[f"plugins.{name}"]


def test_plugin_settings_must_be_tables():
    assert "plugins.disabel" in rules(plugins={"disabel": ["hello"]})


@pytest.mark.parametrize("seconds", [0, -1, "nan", "inf", "soon"])
def test_a_time_limit_is_a_positive_number(seconds):
    wrong = rules(plugins={"import_seconds": seconds}, tools={"add_memory": {"timeout_seconds": seconds}})
    assert set(wrong) == {"plugins.import_seconds", "tools.add_memory.timeout_seconds"}


@pytest.mark.parametrize("key", ["greet", "hello.", ".greet", "hello.Greet", "a b.greet"])
def test_renames_are_keyed_by_plugin_and_tool(key):
    assert 'must have a key of the form "plugin.tool"' in rules(rename={key: "wave"})[f"rename.{key}.[key]"]


@pytest.mark.parametrize("name", ["Wave", "1wave", "wave-it", "w" * 51, "wave\n", ""])
def test_a_tool_is_renamed_to_the_name_of_a_tool(name):
    assert "must be a tool's name" in rules(rename={"hello.greet": name})["rename.hello.greet"]


def test_a_renamed_tool_is_found_by_the_normalised_name_of_its_plugin():
    assert Settings(rename={"My-Plugin.greet": "wave"}).rename == {"my_plugin.greet": "wave"}


def test_unknown_keys_are_refused_at_every_depth():
    wrong = rules(stoer="x", llm={"modle": "x"}, tools={"add_memory": {"timeout": 5}})
    assert set(wrong) == {"stoer", "llm.modle", "tools.add_memory.timeout"}


@given(st.text())
def test_normalising_twice_changes_nothing(name):
    assert normalise(normalise(name)) == normalise(name)


def test_the_spellings_of_one_name_are_one():
    assert {normalise(name) for name in ("My-Plugin", "my_plugin", "my.plugin", "MY-_.PLUGIN")} == {"my_plugin"}


@given(st.text(st.characters(exclude_characters=":@/?#&*"), min_size=1), st.sampled_from(["ann", ""]))
def test_a_password_in_a_url_is_masked(password, user):
    assert without_password(f"falkordb://{user}:{password}@host:1/g") == f"falkordb://{user}:********@host:1/g"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:p@ss/w:rd@host/db", "postgresql://ann:********@host/db"),
        ("postgresql://host/db?password=pw&x=1", "postgresql://host/db?password=********&x=1"),
        ("sqlite:///C:/a@b.db", "sqlite:///C:/a@b.db"),
        ("falkordb://host:6379/graph", "falkordb://host:6379/graph"),
        ("plain text", "plain text"),
    ],
)
def test_only_passwords_are_masked(url, shown):
    assert without_password(url) == shown
