"""The testing kit for plugins."""

import os
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest

from zapomni_core.errors import ConfigurationError
from zapomni_core.plugin import Provider, hookimpl, tool
from zapomni_core.testing import FailureContract, HashingEmbedder, PluginContract, running


class Hashing:
    """A plugin that offers no tools and a quick embedder."""

    settings: ClassVar = {"embedder": "hashing"}

    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="embedder", name="hashing", factory=lambda _: HashingEmbedder())]


async def test_the_temporary_store_is_removed_with_the_app(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with running(Hashing(), settings=Hashing.settings) as app:
        await app.app.engine.add_memory("The harp is in the hall.")
        assert len(list(tmp_path.glob("*/memory.db"))) == 1
    assert not list(tmp_path.iterdir())


async def test_a_store_that_the_settings_name_stays(tmp_path):
    settings = Hashing.settings | {"store": f"sqlite://{tmp_path}/memory.db"}
    async with running(Hashing(), settings=settings) as app:
        await app.app.engine.add_memory("The harp is in the hall.")
    assert (tmp_path / "memory.db").exists()


class Ill:
    """A plugin whose lifespan raises when it is opened, or when it is closed."""

    def __init__(self, when):
        self.when = when

    @hookimpl
    def zapomni_lifespan(self):
        return self.lifespan()

    @asynccontextmanager
    async def lifespan(self):
        if self.when == "opened":
            raise RuntimeError("no port")
        yield
        raise RuntimeError("busy")


WRONG = {
    "opened": r"'ill'.*lifespan.*RuntimeError: no port",
    "closed": r"'ill'.*lifespan.*RuntimeError: busy",
}


@pytest.mark.parametrize("when", WRONG)
async def test_a_failing_lifespan_fails_the_test(when):
    class Contract(PluginContract):
        plugin = Ill(when)
        name = "ill"

    with pytest.raises(ConfigurationError, match=WRONG[when]):
        async with running(Ill(when)):
            pass
    with pytest.raises(ConfigurationError, match=WRONG[when]):
        await Contract().test_it_loads_and_starts_and_stops()


async def test_a_failure_in_a_test_is_not_hidden_by_a_later_one():
    with pytest.raises(ZeroDivisionError):
        async with running(Ill("closed")):
            raise ZeroDivisionError


class Forgotten:
    @hookimpl
    def zapomni_tools(self):
        """A hook that lacks its return."""


@pytest.mark.parametrize(
    ("given", "warning"), [(object(), "it implements no hook"), (Forgotten(), "zapomni_tools returned nothing")]
)
async def test_a_plugin_that_offers_nothing_by_mistake_breaks_the_contract(given, warning):
    class Contract(PluginContract):
        plugin = given
        name = "empty"

    with pytest.raises(AssertionError, match=warning):
        await Contract().test_it_loads_and_starts_and_stops()


BARE = """
from zapomni_core.plugin import hookimpl, tool
from zapomni_core.testing import PluginContract

@tool
async def bare(text: str) -> str:
    "Tell something about a text."
    return ""

class Bare:
    @hookimpl
    def zapomni_tools(self):
        return [bare]

class TestContract(PluginContract):
    plugin = Bare()
    name = "bare"
"""


FIXTURES = """
from zapomni_core.plugin import hookimpl, tool
from zapomni_core.testing import text_of

@tool
async def count(text: str) -> str:
    "Count the letters of a text."
    return str(len(text))

class Counting:
    @hookimpl
    def zapomni_tools(self):
        return [count]

async def test_a_plugin_runs_without_a_conftest(run_plugin):
    app = await run_plugin(Counting(), name="counting")
    assert text_of(await app.call("count", {"text": "harp"})) == "4"

def test_a_language_model_is_there(llm_server):
    assert llm_server.url.startswith("http://127.0.0.1:")
"""


@pytest.fixture
def authors_project(tmp_path):
    """Runs pytest on one file, in a project that knows nothing of this repository."""

    def run(source):
        (tmp_path / "test_plugin.py").write_text(source)
        (tmp_path / "pytest.ini").write_text(
            "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        )
        command = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "-vv"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    return run


def test_a_contract_that_is_broken_in_an_authors_project_says_by_what(authors_project):
    printed = authors_project(BARE)
    assert "1 failed, 2 passed" in printed, printed
    assert "tool 'bare': parameter 'text' has no description" in printed


def test_pytest_finds_the_fixtures_by_itself(authors_project):
    printed = authors_project(FIXTURES)
    assert "2 passed" in printed, printed


WITHOUT_ASYNCIO = """
import sys
sys.modules["pytest_asyncio"] = None
import pytest
pytest.main(["-p", "zapomni_core.testing.pytest_plugin", "-p", "no:cacheprovider", "test_plugin.py"])
"""


def test_without_pytest_asyncio_the_fixture_says_what_to_install(tmp_path):
    (tmp_path / "test_plugin.py").write_text("def test_it(run_plugin):\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ASYNCIO],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "pip install 'zapomni[testing]'" in done.stdout, done.stdout + done.stderr


def test_the_pytest_plugin_imports_nothing_that_it_may_not_need():
    source = "import sys, zapomni_core.testing.pytest_plugin; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    ours = {name for name in done.stdout.split() if name.startswith("zapomni_")}
    assert ours == {"zapomni_core", "zapomni_core.testing", "zapomni_core.testing.pytest_plugin"}
    assert not {"pydantic", "numpy", "httpx"} & set(done.stdout.split())


class Careless:
    """A plugin whose tool always reports success."""

    @hookimpl
    def zapomni_tools(self, engine):
        @tool
        async def keep(text: str) -> str:
            """Keep a text, or not."""
            try:
                await engine.add_memory(text)
            except Exception:  # noqa: BLE001 (its mistake)
                return "Done."
            return "Kept."

        return [keep]


async def test_a_tool_that_claims_success_without_the_store_breaks_the_contract():
    class Contract(FailureContract):
        plugin = Careless()
        name = "careless"
        calls: ClassVar = {"keep": {"text": "Tea with Ada."}}

    with pytest.raises(AssertionError, match=r"\bkeep\b.*success"):
        await Contract().test_the_store_is_away()
