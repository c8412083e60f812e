"""Parts that can be chosen by kind and name, and the built-in ones."""

from pathlib import Path

import pytest

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.engine import MemoryEngine
from zapomni_core.errors import ConfigurationError
from zapomni_core.provider import Provider, ProviderContext, Providers
from zapomni_core.providers import BUILT_IN, default_store_file, zapomni_providers
from zapomni_core.settings import Settings
from zapomni_db.sqlite import SQLiteStore

CONTEXT = ProviderContext(settings=Settings())


def offer(kind, name, made=None):
    return Provider(kind=kind, name=name, factory=lambda _context: made)


def test_a_provider_is_found_by_kind_and_name():
    store, embedder = offer("store", "same"), offer("embedder", "same")
    providers = Providers([store, embedder])
    assert providers.get("store", "same") is store
    assert providers.get("embedder", "same") is embedder


def test_a_name_that_nobody_offers_is_told_with_the_nearest():
    with pytest.raises(ConfigurationError, match=r"^no plugin offers the store 'sqlit'; did you mean 'sqlite'\?$"):
        Providers(BUILT_IN).get("store", "sqlit")


def test_a_name_that_is_like_no_other_is_told_with_all_there_are():
    with pytest.raises(ConfigurationError, match=r"'oracle'; there are: sqlite$"):
        Providers(BUILT_IN).get("store", "oracle")
    with pytest.raises(ConfigurationError, match=r"there are: none$"):
        Providers().get("embedder", "default")


def test_each_provider_has_its_owner():
    providers = Providers(BUILT_IN)
    providers.take("weather", [offer("embedder", "rain")])
    assert providers.owner(offer("embedder", "rain")) == "weather"
    assert providers.owner(offer("store", "rain")) is None
    assert providers.names("embedder") == ["default", "rain"]


def test_the_built_in_ones_are_offered_like_anyones():
    assert zapomni_providers() == BUILT_IN
    assert {("store", "sqlite"), ("embedder", "default"), ("extractor", "rules"), ("extractor", "llm")} <= {
        (one.kind, one.name) for one in BUILT_IN
    }
    assert all(one.summary for one in BUILT_IN)


def test_the_default_embedder_is_made_without_loading_its_model():
    embedder = Providers(BUILT_IN).get("embedder", "default").factory(CONTEXT)
    assert isinstance(embedder, DefaultEmbedder)
    assert embedder._model is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///data/memory.db", "/data/memory.db"),
        ("sqlite:///a%20b/%D0%BF.db", "/a b/п.db"),
        ("sqlite:///a#1/b?c=d.db", "/a#1/b?c=d.db"),
        (None, None),
    ],
)
def test_the_sqlite_store_is_where_its_url_says(url, path):
    store = Providers(BUILT_IN).get("store", "sqlite").factory(ProviderContext(settings=Settings(), url=url))
    assert isinstance(store, SQLiteStore)
    assert store._access.path == (Path(path) if path else default_store_file())


def test_the_default_store_is_in_the_users_data_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store_file() == tmp_path / "zapomni" / "memory.db"


def test_the_scheme_of_the_url_names_the_store_and_it_gets_the_url():
    contexts = []
    mine = Provider(kind="store", name="mine", factory=lambda context: contexts.append(context) or "a store")
    settings = Settings(store="mine://host/place")
    engine = MemoryEngine(settings, Providers([mine]))
    assert contexts == []
    assert engine.memories == engine.memories == "a store"
    assert contexts == [ProviderContext(settings=settings, url="mine://host/place")]
