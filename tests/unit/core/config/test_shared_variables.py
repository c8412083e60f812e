"""Variables shared with other programs apply only where Zapomni's own settings choose nothing."""

import pytest

from zapomni_core.config import load
from zapomni_core.errors import ConfigurationError


def test_a_falkordb_host_chooses_falkordb():
    config = load(environ={"FALKORDB_HOST": "localhost"})
    assert config.settings.store == "falkordb://localhost:6379/zapomni"
    assert config.origins["store"] == "FALKORDB_HOST"
    assert config.unused == {}


def test_port_and_graph_extend_the_host():
    config = load(environ={"FALKORDB_HOST": "db.lan", "FALKORDB_PORT": "6380", "GRAPH_NAME": "my notes/2"})
    assert config.settings.store == "falkordb://db.lan:6380/my%20notes%2F2"
    assert config.origins["store"] == "FALKORDB_HOST, FALKORDB_PORT, GRAPH_NAME"


def test_an_address_of_version_6_is_written_in_brackets():
    config = load(environ={"FALKORDB_HOST": "::1"})
    assert config.settings.store == "falkordb://[::1]:6379/zapomni"


def test_port_and_graph_alone_choose_nothing():
    config = load(environ={"FALKORDB_PORT": "6379", "GRAPH_NAME": "zapomni"})
    assert (config.settings.store, config.origins["store"]) == (None, "default")
    assert list(config.unused) == ["FALKORDB_PORT", "GRAPH_NAME"]
    assert all("FALKORDB_HOST" in reason for reason in config.unused.values())


def test_an_empty_host_counts_as_unset():
    config = load(environ={"FALKORDB_HOST": "", "GRAPH_NAME": ""})
    assert (config.settings.store, config.unused) == (None, {})


def test_the_store_setting_overrides_the_host(tmp_path):
    file = tmp_path / "zapomni.toml"
    file.write_text('store = "sqlite:///of/file.db"')
    for config in (
        load(file, environ={"FALKORDB_HOST": "localhost", "FALKORDB_PORT": "no port"}),
        load(
            environ={"FALKORDB_HOST": "localhost", "FALKORDB_PORT": "no port", "ZAPOMNI_STORE": "sqlite:///of/file.db"}
        ),
    ):
        assert config.settings.store == "sqlite:///of/file.db"
        assert list(config.unused) == ["FALKORDB_HOST", "FALKORDB_PORT"]


def test_a_file_of_variables_may_name_the_host(tmp_path):
    (tmp_path / ".env").write_text("FALKORDB_HOST=localhost\nFALKORDB_PORT=7000\n")
    config = load(env_file=tmp_path / ".env", environ={"FALKORDB_PORT": "7001"})
    assert config.settings.store == "falkordb://localhost:7001/zapomni"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "6379x", "٣", "1e3", "1" * 5000], ids=range(7))
def test_an_invalid_port_is_refused(port):
    with pytest.raises(ConfigurationError, match="FALKORDB_PORT"):
        load(environ={"FALKORDB_HOST": "localhost", "FALKORDB_PORT": port})


@pytest.mark.parametrize(
    "host", ["localhost:6379", "redis://localhost", "user:sesame@localhost", "a b", "[::1]", "a/b"]
)
def test_an_invalid_host_is_refused_without_quoting_it(host):
    with pytest.raises(ConfigurationError, match="FALKORDB_HOST") as raised:
        load(environ={"FALKORDB_HOST": host})
    assert "sesame" not in str(raised.value)


OLLAMA = {"ZAPOMNI_EMBEDDER": "ollama"}


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("http://localhost:11434", "http://localhost:11434"),
        ("gpu.lan", "http://gpu.lan:11434"),
        ("gpu.lan:8080", "http://gpu.lan:8080"),
        ("https://ollama.example/api-of-mine", "https://ollama.example/api-of-mine"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        ('"gpu.lan"', "http://gpu.lan:11434"),
    ],
)
def test_the_host_of_ollama_may_lack_scheme_and_port(host, url):
    config = load(environ={"OLLAMA_HOST": host, **OLLAMA})
    assert config.settings.embedding.ollama.base_url == url
    assert config.origins["embedding.ollama.base_url"] == "OLLAMA_HOST"
    assert config.unused == {}


def test_the_embedding_model_is_that_of_ollama():
    config = load(environ={"EMBEDDING_MODEL": "bge-m3", **OLLAMA})
    assert config.settings.embedding.ollama.model == "bge-m3"
    assert config.settings.embedding.openai.model is None


def test_the_variables_of_ollama_configure_and_choose_nothing():
    config = load(environ={"OLLAMA_HOST": "gpu.lan", "EMBEDDING_MODEL": "bge-m3"})
    assert config.settings.embedder is None
    assert config.settings.embedding.ollama.model == "bge-m3"
    assert list(config.unused) == ["OLLAMA_HOST", "EMBEDDING_MODEL"]


def test_where_another_embedder_is_chosen_they_have_no_effect():
    config = load(environ={"OLLAMA_HOST": "not a host", "EMBEDDING_MODEL": "bge-m3", "ZAPOMNI_EMBEDDER": "openai"})
    assert config.settings.embedding.ollama.model is None
    assert config.unused == dict.fromkeys(
        ["OLLAMA_HOST", "EMBEDDING_MODEL"], "the embedder is 'openai' (from ZAPOMNI_EMBEDDER)"
    )


def test_the_settings_of_zapomni_override_the_variables_of_ollama(tmp_path):
    file = tmp_path / "zapomni.toml"
    file.write_text('embedder = "ollama"\n[embedding.ollama]\nmodel = "of-file"')
    config = load(file, environ={"EMBEDDING_MODEL": "bge-m3"})
    assert config.settings.embedding.ollama.model == "of-file"
    assert "embedding.ollama.model is set" in config.unused["EMBEDDING_MODEL"]
