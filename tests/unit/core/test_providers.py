"""Providers, chosen by kind and name, and the built-in ones."""

from pathlib import Path

import pytest

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.errors import ConfigurationError, ProcessingError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import BUILT_IN, Provider, ProviderContext, Providers, default_store_file, zapomni_providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore

CONTEXT = ProviderContext(settings=Settings())


def offer(kind, name, made=None):
    return Provider(kind=kind, name=name, factory=lambda _context: made)


def test_a_provider_is_found_by_kind_and_name():
    store, embedder = offer("store", "same"), offer("embedder", "same")
    providers = Providers([store, embedder])
    assert providers.get("store", "same") is store
    assert providers.get("embedder", "same") is embedder


def test_an_unknown_name_is_reported_with_the_nearest():
    with pytest.raises(ConfigurationError, match=r"store 'sqlit'.*'sqlite'"):
        Providers(BUILT_IN).get("store", "sqlit")


def test_an_unknown_name_without_a_near_one_is_reported_with_all_names():
    with pytest.raises(ConfigurationError, match=r"'oracle'.*sqlite, falkordb, falkordbs"):
        Providers(BUILT_IN).get("store", "oracle")
    with pytest.raises(ConfigurationError, match=r"there are: none$"):
        Providers().get("embedder", "default")


def test_each_provider_has_its_owner():
    providers = Providers(BUILT_IN)
    providers.take("weather", [offer("embedder", "rain")])
    assert providers.owner(offer("embedder", "rain")) == "weather"
    assert providers.owner(offer("store", "rain")) is None
    assert providers.names("embedder") == ["default", "ollama", "openai", "rain"]


def test_built_in_providers_are_registered_like_any_other():
    assert zapomni_providers() == BUILT_IN
    assert {("store", "sqlite"), ("embedder", "default"), ("extractor", "llm")} <= {
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
    assert store._threads.path == (Path(path) if path else default_store_file())


def test_the_default_store_is_in_the_users_data_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store_file() == tmp_path / "zapomni" / "memory.db"


def test_the_scheme_of_the_url_names_the_store_and_it_gets_the_url(tmp_path):
    contexts, store = [], SQLiteStore(tmp_path / "memory.db")
    mine = Provider(kind="store", name="mine", factory=lambda context: contexts.append(context) or store)
    settings = Settings(store="mine://host/place")
    engine = MemoryEngine(settings, providers=Providers([mine]))
    assert contexts == []
    assert engine.memories is engine.memories is store
    assert contexts == [ProviderContext(settings=settings, url="mine://host/place")]


def no_gpu(_context):
    raise RuntimeError("no gpu")


def leaving(_context):
    raise SystemExit(3)


async def made_async(_context):
    return HashingEmbedder()


class WithoutClose:
    name = "unclosed"

    async def extract(self, text, *, timestamp=None):
        raise AssertionError


class Forgetful(SQLiteStore):
    """A store that lacks a method of two of its protocols."""

    term_counts = None

    def __init__(self):
        super().__init__(Path("/nowhere"))
        self.jobs = object()


class Closing:
    """A store that keeps nothing yet, or only what a test needs."""

    jobs = graph = sessions = vectors = None

    async def close(self):
        raise AssertionError


UNUSABLE = [
    ("extractor", no_gpu, "RuntimeError: no gpu (test_providers.py:"),
    ("store", leaving, "SystemExit: 3 (test_providers.py:"),
    ("store", lambda _: None, "returned nothing"),
    ("store", lambda _: Forgetful(), "term_counts(), jobs.enqueue(), jobs."),
    ("embedder", lambda _: object(), "embed(), tokens(), close(), identity, profile"),
    ("embedder", made_async, "async"),
    ("embedder", lambda _: HashingEmbedder(), "'hashing'"),
    ("embedder", lambda _: HashingEmbedder, "the class 'HashingEmbedder'"),
    (
        "extractor",
        lambda _: WithoutClose(),
        "close()",
    ),
]


@pytest.mark.parametrize(("kind", "factory", "cause"), UNUSABLE)
def test_a_broken_provider_is_reported_with_plugin_cause_and_fix(kind, factory, cause):
    providers = Providers()
    providers.take("weather", [Provider(kind=kind, name="rain", factory=factory)])
    problem = providers.problem(kind, "rain", Settings())
    assert problem.startswith(f"the {kind} 'rain' of plugin 'weather'")
    assert cause in problem
    assert f"choose another {kind}" in problem


def test_an_exception_of_a_factory_is_logged_and_not_shown_to_the_caller(caplog):
    providers = Providers([Provider(kind="extractor", name="rain", factory=no_gpu)])
    with pytest.raises(ConfigurationError, match=r"extractor 'rain'.*RuntimeError"):
        providers.make("extractor", "rain", Settings())
    assert "no gpu" in caplog.records[0].cause


def test_the_object_made_for_the_check_is_the_one_that_is_used():
    made = []
    mine = Provider(
        kind="embedder", name="mine", factory=lambda _: made.append(HashingEmbedder(name="mine")) or made[-1]
    )
    providers = Providers([mine])
    assert providers.problem("embedder", "mine", Settings()) is None
    assert providers.make("embedder", "mine", Settings()) is made[0]
    assert providers.make("embedder", "mine", Settings()) is made[1]


def test_a_configuration_error_of_a_factory_is_passed_on():
    def keyless(_context):
        raise ConfigurationError("the embedder needs a key")

    providers = Providers([Provider(kind="embedder", name="mine", factory=keyless)])
    assert providers.problem("embedder", "mine", Settings()) == "the embedder needs a key"


def test_a_store_may_lack_optional_protocols():
    providers = Providers([offer("store", "plain", Closing()), offer("store", "whole", SQLiteStore(Path("/nowhere")))])
    assert providers.problem("store", "plain", Settings()) is None
    assert providers.problem("store", "whole", Settings()) is None


def test_a_store_that_cannot_be_reached_now_can_be_chosen():
    def away(_context):
        raise StoreUnavailableError("the database is away")

    providers = Providers([Provider(kind="store", name="mine", factory=away)])
    assert providers.problem("store", "mine", Settings()) is None
    with pytest.raises(StoreUnavailableError):
        providers.make("store", "mine", Settings())


class Extracting:
    """An extractor with a given answer and a synchronous `close`."""

    name = "mine"

    def __init__(self, answer):
        self.answer = answer
        self.closed = False

    async def extract(self, text, *, timestamp=None):
        return self.answer()

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    ("answer", "message"),
    [(list, r"'mine'.*\blist\b.*Extraction"), (lambda: 1 / 0, r"'mine'.*ZeroDiv")],
)
async def test_extractor_failures_are_processing_errors_and_a_synchronous_close_is_called(answer, message):
    extractor = Extracting(answer)
    engine = MemoryEngine(Settings(), extractor=extractor)
    with pytest.raises(ProcessingError, match=message):
        await engine.extract("text")
    await engine.close()
    assert extractor.closed


class Stubborn(HashingEmbedder):
    async def close(self):
        raise RuntimeError("busy")


async def test_a_failing_close_is_logged_and_the_other_parts_are_closed(tmp_path, caplog):
    extractor = Extracting(lambda: 1 / 0)
    settings = Settings(store=f"sqlite://{tmp_path}/memory.db")
    engine = MemoryEngine(settings, embedder=Stubborn(), extractor=extractor)
    await engine.embed(["The bridge is closed."])
    with pytest.raises(ProcessingError):
        await engine.extract("text")
    await engine.close()
    assert extractor.closed
    assert [(one.message, one.part) for one in caplog.records if one.name == "zapomni.providers"] == [
        ("part_did_not_close", "Stubborn")
    ]
