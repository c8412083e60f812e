import os
import stat
import sys
import tomllib
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import normalise
from zapomni_mcp.config import load, set_plugin_enabled

COMMENTED = """\
# my settings
store = "sqlite:///data/memory.db" # the good disk

[plugins] # who may come
disable = [
    "audit", # too loud
    "zapomni-plugin-graph",
]

[plugins.hello]
greeting = 'Hi' # not Hello
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "zapomni.toml"


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_disabling_creates_the_file_readable_only_by_the_user(tmp_path):
    file = tmp_path / "new" / "folder" / "zapomni.toml"
    set_plugin_enabled(file, "hello", enabled=False)
    assert load(file, environ={}).settings.plugins.disable == ("hello",)
    assert mode(file) == 0o600


def test_comments_and_order_are_kept(file):
    file.write_text(COMMENTED)
    set_plugin_enabled(file, "hello", enabled=False)
    assert file.read_text() == COMMENTED.replace('-graph",\n', '-graph",\n    "hello",\n')
    set_plugin_enabled(file, "hello", enabled=True)
    assert file.read_text() == COMMENTED


def test_a_name_is_found_in_any_spelling(file):
    file.write_text(COMMENTED)
    set_plugin_enabled(file, "Zapomni_Plugin_Graph", enabled=True)
    assert load(file, environ={}).settings.plugins.disable == ("audit",)


def test_disabling_twice_changes_nothing(file):
    file.write_text(COMMENTED)
    set_plugin_enabled(file, "Audit", enabled=False)
    assert file.read_text() == COMMENTED


def test_enabling_a_plugin_that_is_not_disabled_creates_no_file(file):
    set_plugin_enabled(file, "hello", enabled=True)
    assert not file.exists()


def test_disabling_takes_the_name_off_the_enabled_ones(file):
    file.write_text('[plugins]\nenable = ["hello", "audit"]\n')
    set_plugin_enabled(file, "hello", enabled=False)
    plugins = load(file, environ={}).settings.plugins
    assert (plugins.enable, plugins.disable) == (("audit",), ("hello",))


def test_enabling_under_an_allowlist_allows(file):
    file.write_text('[plugins]\npolicy = "allowlist"\ndisable = ["hello"]\n')
    set_plugin_enabled(file, "hello", enabled=True)
    plugins = load(file, environ={}).settings.plugins
    assert (plugins.disable, plugins.allow) == ((), ("hello",))


def test_names_separated_by_commas_become_a_list(file):
    file.write_text('[plugins]\ndisable = "audit, graph" # loud\n')
    set_plugin_enabled(file, "hello", enabled=False)
    assert file.read_text() == '[plugins]\ndisable = ["audit", "graph", "hello"] # loud\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        'store = "a://"',
        "[plugins]\n",
        "plugins = { policy = 'all' }\n",
        "plugins.policy = 'all'\nstore = 'a://'\n",
        "[plugins.hello]\na = 1",
        "[plugins.hello]\na = 1\n[llm]\nmodel = 'm'\n[plugins.audit]\nb = 2\n",
        "[plugins.hello]\na = 1\n[llm]\nmodel = 'm'\n[plugins]\ndisable = ['x']\n[plugins.audit]\nb = 2\n",
        "[plugins]\r\ndisable = ['x']\r\n",
        "[[plugins.hello.hosts]]\na = 1\n[[plugins.hello.hosts]]\na = 2\n",
        "\ufeff[plugins]\npolicy = 'all'\n",
    ],
)
def test_only_the_list_changes_in_any_layout_of_the_file(file, text):
    file.write_text(text, encoding="utf-8", newline="")
    set_plugin_enabled(file, "graph", enabled=False)
    meant = tomllib.loads(text.removeprefix("\ufeff").replace("\r", ""))
    meant.setdefault("plugins", {}).setdefault("disable", []).append("graph")
    assert tomllib.loads(file.read_bytes().decode()) == meant


names = st.lists(st.sampled_from(["a", "b", "a-b", "A_B", "c"]), max_size=4)


@given(
    st.fixed_dictionaries(
        {}, optional={"disable": names, "enable": names, "policy": st.sampled_from(["all", "allowlist"])}
    ),
    st.sampled_from(["a", "a.b", "c"]),
    st.booleans(),
)
def test_a_switched_plugin_has_the_requested_state(tmp_path_factory, table, name, enabled):
    file = tmp_path_factory.mktemp("config") / "zapomni.toml"
    file.write_text(tomlkit.dumps({"plugins": table}))
    set_plugin_enabled(file, name, enabled=enabled)
    plugins = load(file, environ={}).settings.plugins
    assert (normalise(name) in map(normalise, plugins.disable)) is not enabled
    assert enabled or normalise(name) not in map(normalise, plugins.enable)
    assert not enabled or plugins.policy == "all" or name in plugins.allow


def test_the_mode_of_the_file_is_kept(file):
    file.write_text("")
    file.chmod(0o640)
    set_plugin_enabled(file, "hello", enabled=False)
    assert mode(file) == 0o640


def test_a_link_stays_a_link_and_its_target_is_edited(file, tmp_path):
    target = tmp_path / "dotfiles" / "real.toml"
    target.parent.mkdir()
    target.write_text("# kept\n")
    file.symlink_to(target)
    set_plugin_enabled(file, "hello", enabled=False)
    assert file.is_symlink()
    assert target.read_text().startswith("# kept\n")
    assert load(file, environ={}).settings.plugins.disable == ("hello",)


def test_nothing_but_the_file_is_left_in_the_folder(file):
    set_plugin_enabled(file, "hello", enabled=False)
    assert list(file.parent.iterdir()) == [file]


def test_a_write_that_fails_leaves_the_old_file_alone(file, monkeypatch):
    file.write_text(COMMENTED)

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match="No space left"):
        set_plugin_enabled(file, "hello", enabled=False)
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == COMMENTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[plugins\n", "zapomni.toml: .* line 1"),
        ("plugins = 5\n", "zapomni.toml: plugins "),
        ("[plugins]\ndisable = 5\n", "plugins.disable "),
        ("[plugins]\ndisable = [5]\n", "plugins.disable "),
    ],
)
def test_an_invalid_file_is_not_edited(file, text, message):
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        set_plugin_enabled(file, "hello", enabled=False)
    assert file.read_text() == text


@pytest.mark.parametrize("name", ["", "a b", 'x"y', "-x"])
def test_an_invalid_name_is_refused_before_the_file_is_touched(file, name):
    with pytest.raises(ConfigurationError, match="name of a plugin"):
        set_plugin_enabled(file, name, enabled=False)
    assert not file.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such links without a privilege")
def test_a_symlink_to_itself_is_reported(file):
    file.symlink_to(file)
    with pytest.raises(ConfigurationError, match=r"zapomni\.toml"):
        set_plugin_enabled(file, "hello", enabled=False)
