from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_mcp.config import dump, load
from zapomni_mcp.config.show import dump_with_plugins


@pytest.fixture
def shown(tmp_path: Path):
    """Dump a settings file and variables by key, with the secrets of plugins masked as they declare by default."""

    def shown(text: str = "", dump=dump_with_plugins, **environ: str) -> dict[str, tuple[str, str]]:
        file = tmp_path / "zapomni.toml"
        file.write_text(text)
        return {key: (value, origin) for key, value, origin in dump(load(file, environ=environ))}

    return shown


def test_every_setting_is_shown_with_its_origin(shown, tmp_path):
    values = shown('workspace = "home"\n[tools.add_memory]\nenabled = false', ZAPOMNI_PLUGINS__DISABLE="a,b")
    assert values["workspace"] == ("home", str(tmp_path / "zapomni.toml"))
    assert values["plugins.disable"] == ('["a", "b"]', "ZAPOMNI_PLUGINS__DISABLE")
    assert values["tools.add_memory.enabled"][0] == "false"
    assert values["tools.add_memory.timeout_seconds"] == ("not set", "default")
    assert values["store"] == ("not set", "default")
    assert values["plugins.import_seconds"] == ("5", "default")


def test_a_key_is_masked(shown):
    assert shown(ZAPOMNI_LLM__API_KEY="hunter2")["llm.api_key"] == ("********", "ZAPOMNI_LLM__API_KEY")


def test_a_password_in_a_url_is_masked_and_the_rest_is_not(shown):
    values = shown(ZAPOMNI_STORE="falkordb://ann:hunter2@host:1/g", ZAPOMNI_LLM__BASE_URL="http://ann:hunter2@host")
    assert values["store"][0] == "falkordb://ann:********@host:1/g"
    assert values["llm.base_url"][0] == "http://ann:********@host"


@pytest.mark.parametrize("value", ['"hunter2"', "4711", '{ Authorization = "hunter2" }', '["hunter2"]'])
def test_any_setting_of_a_plugin_is_masked(shown, value):
    values = shown(f"[plugins.mail]\nauth = {value}", dump=dump)
    assert [one for key, (one, _) in values.items() if key.startswith("plugins.mail.")] == ["********"]


@pytest.mark.parametrize(
    "key",
    [
        "pwd",
        "dsn",
        "headers.Authorization",
        "cookie",
        "api_key",
        "ApiKey",
        "token",
        "client_secret",
        "password",
        "auth.token",
        "passphrase",
    ],
)
def test_plugin_settings_that_look_like_secrets_are_masked(shown, key):
    assert shown(f'[plugins.mail]\n{key} = "hunter2"')[f"plugins.mail.{key}"][0] == "********"


def test_a_secret_deep_in_a_list_is_masked(shown):
    values = shown('[plugins.mail]\nhosts = [{ name = "a", password = "hunter2", url = "x://a:hunter2@b" }]')
    assert values["plugins.mail.hosts"][0] == '[{"name": "a", "password": "********", "url": "x://a:********@b"}]'


def test_a_plugin_setting_from_a_variable_of_another_name_is_masked(shown):
    values = shown('[plugins.mail]\nsender = { env = "SENDER" }', SENDER="hunter2")
    assert values["plugins.mail.sender"] == ("********", "SENDER")


def test_other_values_of_a_plugin_are_shown(shown):
    values = shown('[plugins.hello]\ngreeting = "Hi"\nwhen = 2025-01-01', ZAPOMNI_PLUGINS__HELLO__MARK="!")
    assert values["plugins.hello.greeting"][0] == "Hi"
    assert values["plugins.hello.when"][0] == '"2025-01-01"'
    assert values["plugins.hello.mark"][0] == "!"


def test_a_plugin_named_like_a_secret_is_not_hidden(shown):
    assert shown('[plugins.keyboard]\nlayout = "us"')["plugins.keyboard.layout"][0] == "us"


@given(st.dictionaries(st.sampled_from(["a", "b", "a-b"]), st.integers() | st.lists(st.none()) | st.text(), max_size=3))
def test_any_settings_of_a_plugin_can_be_shown(table):
    import json

    variables = {"ZAPOMNI_CONFIG": "/dev/null", "ZAPOMNI_PLUGINS__HELLO": json.dumps(table)}
    values = dict(row[:2] for row in dump(load(environ=variables)))
    assert {key for key in values if key.startswith("plugins.hello.")} == {f"plugins.hello.{key}" for key in table}
