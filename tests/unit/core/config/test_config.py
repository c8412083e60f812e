import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_core.config import load, settings_file
from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import Settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "zapomni.toml"


@pytest.fixture
def write(file: Path):
    def write(text: str) -> Path:
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Hide the settings of the user who runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def problems(file: Path | None = None, *, env_file: Path | None = None, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(file, env_file=env_file, environ=environ)
    return str(caught.value).splitlines()


def test_without_a_file_and_variables_everything_is_default():
    config = load(environ={})
    assert config.settings == Settings()
    assert config.file is None
    assert set(config.origins.values()) == {"default"}
    assert {"store", "llm.api_key", "plugins.disable", "plugins.policy"} <= config.origins.keys()


def test_the_file_beats_the_default_and_a_variable_beats_the_file(write):
    file = write('workspace = "of-file"\nembedder = "of-file"\n[llm]\nmodel = "of-file"\nprovider = "ollama"')
    config = load(file, environ={"ZAPOMNI_WORKSPACE": "of-env", "ZAPOMNI_LLM__MODEL": "of-env"})
    assert (config.settings.workspace, config.settings.embedder) == ("of-env", "of-file")
    assert (config.settings.llm.model, config.settings.llm.provider) == ("of-env", "ollama")
    assert config.file == file
    origins = [config.origins[key] for key in ("workspace", "embedder", "llm.model", "llm.provider", "extractor")]
    assert origins == ["ZAPOMNI_WORKSPACE", str(file), "ZAPOMNI_LLM__MODEL", str(file), "default"]


def test_the_environment_of_the_process_is_the_default(monkeypatch):
    monkeypatch.setenv("ZAPOMNI_WORKSPACE", "real")
    assert load().settings.workspace == "real"


def test_variable_names_are_case_insensitive():
    config = load(environ={"zapomni_llm__Model": "m"})
    assert config.settings.llm.model == "m"
    assert config.origins["llm.model"] == "zapomni_llm__Model"


def test_two_spellings_of_one_variable_are_a_problem():
    assert problems(ZAPOMNI_STORE="a://", zapomni_store="b://") == [
        "store is set twice, in ZAPOMNI_STORE and in zapomni_store"
    ]


def test_an_empty_variable_counts_as_unset(write):
    config = load(write('workspace = "of-file"'), environ={"ZAPOMNI_WORKSPACE": "", "ZAPOMNI_NONSENSE": ""})
    assert config.settings.workspace == "of-file"


def test_variables_reach_tables_of_plugins_and_tools():
    config = load(
        environ={
            "ZAPOMNI_PLUGINS__HELLO__GREETING": "Hi",
            "ZAPOMNI_PLUGINS__HELLO__COUNT": "5",
            "ZAPOMNI_PLUGINS__HELLO__WORDS": '["a", "b"]',
            "ZAPOMNI_PLUGINS__HELLO__DEEP__KEY": '{"a": 1}',
            "ZAPOMNI_PLUGINS__HELLO__BRACKET": "[no json",
            "ZAPOMNI_PLUGINS__DISABLE": "audit, graph",
            "ZAPOMNI_PLUGINS__REQUIRE": '["memory>=0.1,<1"]',
            "ZAPOMNI_TOOLS__ADD_MEMORY__TIMEOUT_SECONDS": "5",
            "ZAPOMNI_RENAME__MY_PLUGIN__GREET": "wave",
        }
    )
    plugins = config.settings.plugins
    assert plugins.table("hello") == {
        "greeting": "Hi",
        "count": "5",
        "words": ["a", "b"],
        "deep": {"key": {"a": 1}},
        "bracket": "[no json",
    }
    assert (plugins.disable, plugins.require) == (("audit", "graph"), ("memory>=0.1,<1",))
    assert config.settings.tools["add_memory"].timeout_seconds == 5
    assert config.settings.rename == {"my_plugin.greet": "wave"}
    assert config.origins["plugins.hello.greeting"] == "ZAPOMNI_PLUGINS__HELLO__GREETING"
    assert config.origins["plugins.hello.deep.key.a"] == "ZAPOMNI_PLUGINS__HELLO__DEEP__KEY"
    assert config.origins["rename.my_plugin.greet"] == "ZAPOMNI_RENAME__MY_PLUGIN__GREET"


def test_a_variable_may_hold_a_whole_table_as_json(write):
    file = write('[plugins.hello]\ngreeting = "Hi"\nmark = "!"')
    config = load(
        file,
        environ={
            "ZAPOMNI_PLUGINS__HELLO": '{"greeting": "Yo"}',
            "ZAPOMNI_RENAME": '{"hello.greet": "wave"}',
            "ZAPOMNI_PLUGINS__AUDIT": "{}",
        },
    )
    assert config.settings.plugins.tables == {"hello": {"greeting": "Yo", "mark": "!"}, "audit": {}}
    assert config.settings.rename == {"hello.greet": "wave"}
    assert config.origins["plugins.hello.mark"] == str(file)


def test_a_string_setting_that_looks_like_json_stays_a_string():
    config = load(environ={"ZAPOMNI_LLM__API_KEY": '{"type": "service"}', "ZAPOMNI_WORKSPACE": "[a]"})
    assert config.settings.llm.api_key.get_secret_value() == '{"type": "service"}'
    assert config.settings.workspace == "[a]"


def test_a_variable_overrides_a_table_in_the_file_with_a_value_and_vice_versa(write):
    file = write('[plugins.hello]\na = { b = 1 }\nc = "text"')
    config = load(file, environ={"ZAPOMNI_PLUGINS__HELLO__A": "x", "ZAPOMNI_PLUGINS__HELLO__C__D": "y"})
    assert config.settings.plugins.table("hello") == {"a": "x", "c": {"d": "y"}}


def test_spellings_of_a_plugin_name_share_one_table(write):
    file = write('[plugins.My-Plugin]\ngreeting = "Hi"\nmark = "!"\n[rename]\n"My-Plugin.greet" = "wave"')
    config = load(file, environ={"ZAPOMNI_PLUGINS__MY_PLUGIN__GREETING": "Yo"})
    assert config.settings.plugins.tables == {"my_plugin": {"greeting": "Yo", "mark": "!"}}
    assert config.origins["plugins.my_plugin.mark"] == config.origins["rename.my_plugin.greet"] == str(file)


def test_a_key_that_two_spellings_set_is_a_problem(write):
    file = write("[plugins.my-plugin]\na = 1\n[plugins.my_plugin]\na = 2")
    assert problems(file) == [f"plugins.my_plugin.a is set twice, in {file} and in {file}"]


def test_renaming_works_without_the_quotes(write):
    assert load(write('[rename]\nhello.greet = "wave"'), environ={}).settings.rename == {"hello.greet": "wave"}


def test_a_variable_beneath_the_value_of_another_is_a_problem():
    assert problems(ZAPOMNI_PLUGINS__HELLO__A="x", ZAPOMNI_PLUGINS__HELLO__A__B="y") == [
        "ZAPOMNI_PLUGINS__HELLO__A__B cannot be used, because ZAPOMNI_PLUGINS__HELLO__A sets plugins.hello.a to a value"
    ]


def test_log_level_has_an_alias():
    config = load(environ={"LOG_LEVEL": "info"})
    assert (config.settings.log_level, config.origins["log_level"]) == ("INFO", "LOG_LEVEL")


@pytest.mark.parametrize(
    "own", [{"ZAPOMNI_LOG_LEVEL": "error"}, {"ZAPOMNI_LOG_LEVEL": "error", "LOG_LEVEL": "nonsense"}]
)
def test_the_real_name_overrides_the_alias(own):
    assert load(environ=own).settings.log_level == "ERROR"


def test_the_alias_applies_if_the_real_name_is_empty():
    assert load(environ={"ZAPOMNI_LOG_LEVEL": "", "LOG_LEVEL": "info"}).settings.log_level == "INFO"


def test_variables_of_tests_and_the_path_of_the_file_are_not_settings(write):
    load(environ={"ZAPOMNI_TEST_ANYTHING": "x", "ZAPOMNI_CONFIG": str(write("")), "ZAPOMNIX": "x", "OTHER": "x"})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ZAPOMNI_STOER", "ZAPOMNI_STORE"),
        ("zapomni_stoer", "ZAPOMNI_STORE"),
        ("ZAPOMNI_LLM_MODEL", "ZAPOMNI_LLM__MODEL"),
        ("ZAPOMNI_LLM__MODLE", "ZAPOMNI_LLM__MODEL"),
        ("ZAPOMNI_API_KEY", "ZAPOMNI_LLM__API_KEY"),
        ("ZAPOMNI_PLUGINS_DISABLE", "ZAPOMNI_PLUGINS__DISABLE"),
        ("ZAPOMNI_TOOLS__ADD_MEMORY__TIMEOUT", "ZAPOMNI_TOOLS__ADD_MEMORY__TIMEOUT_SECONDS"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest(name, meant):
    assert problems(**{name: "x"}) == [f"unknown setting {name}; did you mean {meant}?"]


@pytest.mark.parametrize(
    "name", ["ZAPOMNI_QQQQQQ", "ZAPOMNI_LLM__QQQQQQ", "ZAPOMNI_TOOLS__ADD_MEMORY__QQQQQQ", "ZAPOMNI_"]
)
def test_an_unknown_variable_without_a_similar_name_is_refused_without_a_suggestion(name):
    assert problems(**{name: "x"}) == [f"unknown setting {name}"]


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ("stoer = 'x'", "stoer", "store"),
        ("[llm]\nmodle = 'x'", "llm.modle", "model"),
        ("[pluggins]\ndisable = []", "pluggins", "plugins"),
        ("disable = ['hello']", "disable", "plugins.disable"),
        ("[tools.add_memory]\nenable = true", "tools.add_memory.enable", "enabled"),
    ],
)
def test_an_unknown_key_is_refused_with_the_file_and_the_nearest(write, text, key, meant):
    file = write(text)
    assert problems(file) == [f"unknown setting {key} (from {file}); did you mean '{meant}'?"]


def test_a_misspelled_key_of_plugins_is_not_taken_for_a_plugin(write):
    file = write("[plugins]\ndisabel = ['hello']")
    assert problems(file) == [
        f"plugins.disabel (from {file}) must be the table of one plugin's settings; did you mean 'disable'?"
    ]
    (line,) = problems(ZAPOMNI_PLUGINS__DISABEL="hello")
    assert line.endswith("did you mean ZAPOMNI_PLUGINS__DISABLE?")


@pytest.mark.parametrize(
    ("name", "value", "key", "rule"),
    [
        ("ZAPOMNI_LOG_LEVEL", "loud", "log_level", "must be 'DEBUG', 'INFO', 'WARNING', 'ERROR' or 'CRITICAL'"),
        ("LOG_LEVEL", "loud", "log_level", "must be 'DEBUG', 'INFO', 'WARNING', 'ERROR' or 'CRITICAL'"),
        (
            "ZAPOMNI_STORE",
            "sqlite://m.db",
            "store",
            "must have an absolute path after two slashes: sqlite:///absolute/path.db",
        ),
        ("ZAPOMNI_STORE__X", "y", "store", "must be a string"),
        ("ZAPOMNI_WORKSPACE", "x" * 65, "workspace", "must have at most 64 characters"),
        ("ZAPOMNI_WORKSPACE", " ", "workspace", "must not be blank"),
        ("ZAPOMNI_LLM", "nonsense", "llm", "must be a table, or a JSON object in a variable"),
        ("ZAPOMNI_RENAME", "nonsense", "rename", "must be a table, or a JSON object in a variable"),
        ("ZAPOMNI_RENAME__HELLO__GREET", "Wave", "rename.hello.greet", "must be a tool's name"),
        ("ZAPOMNI_PLUGINS__IMPORT_SECONDS", "soon", "plugins.import_seconds", "must be a number"),
        ("ZAPOMNI_PLUGINS__IMPORT_SECONDS", "inf", "plugins.import_seconds", "must be a finite number"),
        ("ZAPOMNI_PLUGINS__START_SECONDS", "-1", "plugins.start_seconds", "must be greater than 0"),
        ("ZAPOMNI_PLUGINS__DISABLE", '{"a": 1}', "plugins.disable", "must be a list of names"),
        ("ZAPOMNI_PLUGINS__DISABLE", "a,b c", "plugins.disable.1", "must be the name of a plugin or of a distribution"),
        ("ZAPOMNI_TOOLS__ADD_MEMORY__ENABLED", "perhaps", "tools.add_memory.enabled", "must be true or false"),
        ("ZAPOMNI_TOOLS__ADD-MEMORY__ENABLED", "true", "tools.add-memory", "must be a tool's name"),
    ],
)
def test_an_invalid_value_is_reported_with_key_origin_and_rule(name, value, key, rule):
    (line,) = problems(**{name: value})
    assert line.startswith(f"{key} (from {name}) {rule}")


@pytest.mark.parametrize("text", ['embedder = ""', "workspace = 5", "[tools.a]\nenabled = []", "[tools]\na = 5"])
def test_an_invalid_value_in_the_file_is_reported_with_the_file(write, text):
    file = write(text)
    (line,) = problems(file)
    assert f"(from {file}) must" in line


@given(st.text("щъыэюя", min_size=6))
def test_a_message_never_shows_the_value(secret):
    text = "\n".join(
        problems(
            ZAPOMNI_STORE=secret,
            ZAPOMNI_LOG_LEVEL=secret,
            ZAPOMNI_PLUGINS__DISABLE=f"-{secret}",
            ZAPOMNI_PLUGINS__IMPORT_SECONDS=secret,
            ZAPOMNI_PLUGINS__HELLO=secret,
            ZAPOMNI_LLM=secret,
            ZAPOMNI_NONSENSE=secret,
            ZAPOMNI_TOOLS__A__ENABLED=secret,
        )
    )
    assert secret not in text


def test_all_problems_are_reported_together(write, tmp_path):
    env_file = tmp_path / "variables"
    env_file.write_text("ZAPOMNI_STORE=nonsense\n- broken -\n")
    file = write('workspace = ""\nmodel = "m"')
    lines = problems(file, env_file=env_file, ZAPOMNI_LOG_LEVEL="loud", ZAPOMNI_STOER="x")
    expected = [
        "line 2 is not",
        "ZAPOMNI_STORE) must",
        "workspace (from",
        "model (from",
        "ZAPOMNI_LOG_LEVEL",
        "ZAPOMNI_STOER",
    ]
    assert len(lines) == len(expected)
    assert all(any(part in line for line in lines) for part in expected)


def test_a_broken_file_does_not_hide_problems_of_the_environment(write):
    lines = problems(write("store = \n"), ZAPOMNI_LOG_LEVEL="loud")
    assert len(lines) == 2


def test_invalid_toml_is_reported_with_file_line_and_column(write):
    file = write('store = "x"\n[llm\n')
    (line,) = problems(file)
    assert line.startswith(f"{file} is not valid TOML: ")
    assert "line 2, column 5" in line


def test_toml_nested_too_deeply_is_reported_as_invalid(write):
    (line,) = problems(write("a = " + "[" * 100_000))
    assert "is not valid TOML" in line


def test_a_file_that_is_not_utf_8_is_reported(file):
    file.write_bytes(b'workspace = "\xff"')
    assert problems(file) == [f"{file} is not UTF-8 (byte 13)"]


def test_a_byte_order_mark_is_ignored(file):
    file.write_bytes(b'\xef\xbb\xbfworkspace = "x"\r\n')
    assert load(file, environ={}).settings.workspace == "x"


def test_an_unreadable_file_is_reported(tmp_path):
    (line,) = problems(tmp_path)
    assert line.startswith(f"{tmp_path} cannot be read: ")


def test_a_file_that_was_named_must_exist(file):
    assert problems(file) == problems(ZAPOMNI_CONFIG=str(file)) == [f"{file} does not exist"]


@pytest.mark.skipif(sys.platform == "win32", reason="HOME does not count there")
def test_a_home_that_is_not_a_folder_has_no_settings(monkeypatch):
    monkeypatch.setenv("HOME", "/dev/null")
    assert load(environ={}).file is None


def test_a_secret_is_taken_from_the_variable_that_the_file_names(write):
    file = write(
        'store = { env = "DB_URL" }\n[llm]\napi_key = { env = "OPENAI_API_KEY" }\n'
        '[plugins.mail]\nhosts = [{ name = "a", password = { env = "MAIL_PASSWORD" } }]\n'
    )
    config = load(file, environ={"DB_URL": "a://b", "OPENAI_API_KEY": "k", "MAIL_PASSWORD": "p"})
    assert config.settings.store == "a://b"
    assert config.settings.llm.api_key.get_secret_value() == "k"
    assert config.settings.plugins.table("mail") == {"hosts": [{"name": "a", "password": "p"}]}
    assert config.origins["llm.api_key"] == "OPENAI_API_KEY"


def test_a_table_named_env_is_not_a_reference(write):
    config = load(write('[plugins.runner]\nenv = "prod"\n[plugins.other.sub]\nenv = 5'), environ={})
    assert config.settings.plugins.tables == {"runner": {"env": "prod"}, "other": {"sub": {"env": 5}}}


def test_a_variable_that_the_file_names_must_be_set(write):
    file = write('[llm]\napi_key = { env = "OPENAI_API_KEY" }')
    assert problems(file, OPENAI_API_KEY="") == [f"llm.api_key (from {file}): the variable OPENAI_API_KEY is not set"]


def test_a_variable_that_the_file_names_is_not_needed_where_the_environment_sets_the_key(write):
    file = write('[llm]\napi_key = { env = "OPENAI_API_KEY" }')
    assert load(file, environ={"ZAPOMNI_LLM__API_KEY": "k"}).settings.llm.api_key.get_secret_value() == "k"


def test_the_usual_key_of_openai_is_taken_where_its_protocol_is_chosen():
    config = load(environ={"ZAPOMNI_LLM__PROVIDER": "openai", "OPENAI_API_KEY": "usual"})
    assert config.settings.llm.api_key.get_secret_value() == "usual"
    assert config.origins["llm.api_key"] == "OPENAI_API_KEY"


@pytest.mark.parametrize("provider", [None, "ollama"])
def test_other_providers_do_not_get_the_usual_key_of_openai(provider):
    chosen = {"ZAPOMNI_LLM__PROVIDER": provider} if provider else {}
    assert load(environ={"OPENAI_API_KEY": "usual", **chosen}).settings.llm.api_key is None


def test_a_key_set_for_zapomni_overrides_the_usual_one(write):
    file = write('[llm]\nprovider = "openai"\napi_key = "of-file"')
    environ = {"OPENAI_API_KEY": "usual"}
    assert load(file, environ=environ).settings.llm.api_key.get_secret_value() == "of-file"
    environ["ZAPOMNI_LLM__API_KEY"] = "of-env"
    assert load(file, environ=environ).settings.llm.api_key.get_secret_value() == "of-env"


def test_an_env_file_adds_what_the_environment_does_not_have(tmp_path):
    env_file = tmp_path / "variables"
    env_file.write_text(
        '# a comment\nexport ZAPOMNI_WORKSPACE="of file"\nzapomni_embedder=of-file\nZAPOMNI_EXTRACTOR=of-file\n'
        "ZAPOMNI_LLM__API_KEY=a$b${HOME}\nZAPOMNI_STORE=\nOTHER\n"
    )
    environ = {"ZAPOMNI_EMBEDDER": "of-env", "ZAPOMNI_EXTRACTOR": ""}
    config = load(env_file=env_file, environ=environ)
    settings = config.settings
    assert (settings.workspace, settings.embedder, settings.extractor) == ("of file", "of-env", "of-file")
    assert settings.llm.api_key.get_secret_value() == "a$b${HOME}"
    assert settings.store is None
    assert config.origins["workspace"] == "ZAPOMNI_WORKSPACE"


def test_an_env_file_may_name_the_settings_file(write, tmp_path):
    env_file = tmp_path / "variables"
    env_file.write_text(f"ZAPOMNI_CONFIG={write('')}\n")
    assert load(env_file=env_file, environ={}).file == write("")


def test_an_env_file_that_was_named_must_exist(tmp_path):
    assert problems(env_file=tmp_path / "absent") == [f"{tmp_path / 'absent'} does not exist"]


def test_nothing_is_taken_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "zapomni.toml").write_text('workspace = "hostile"')
    (tmp_path / ".env").write_text("ZAPOMNI_WORKSPACE=hostile")
    monkeypatch.chdir(tmp_path)
    for value in ("", ".", "relative"):
        monkeypatch.setenv("XDG_CONFIG_HOME", value)
        assert load(environ={}).settings.workspace == "default"


def test_the_default_file_is_read_if_none_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "zapomni").mkdir()
    (tmp_path / "zapomni" / "zapomni.toml").write_text('workspace = "mine"')
    if sys.platform == "linux":
        assert load(environ={}).settings.workspace == "mine"


def test_the_named_file_comes_from_the_option_then_from_the_variable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environ = {"ZAPOMNI_CONFIG": "~/of-variable.toml"}
    assert settings_file(Path("of-option.toml"), environ) == tmp_path / "of-option.toml"
    assert settings_file(None, environ) == tmp_path / "home" / "of-variable.toml"
    assert settings_file(None, {}).name == "zapomni.toml"


def test_without_a_home_the_error_names_the_variables_to_set(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(ConfigurationError, match=r"HOME.*--config.*ZAPOMNI_CONFIG"):
        settings_file(None, {})


def test_loading_imports_nothing_slow():
    code = "import sys, zapomni_core.config as c; c.load(environ={}); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [
        name for name in ("mcp", "tomlkit", "dotenv", "structlog", "rich", "pydantic_settings") if f"'{name}'" in loaded
    ]
