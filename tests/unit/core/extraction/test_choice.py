"""The engine uses the extractor it is given, the one that the settings name, or the default."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from zapomni_core.errors import ConfigurationError
from zapomni_core.extraction.llm import LLMExtractor
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import BUILT_IN, Provider, ProviderContext, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import Extraction


class Given:
    """An extractor that records its calls."""

    name = "given"

    def __init__(self):
        self.asked = []
        self.closed = 0

    async def extract(self, text, *, timestamp=None):
        self.asked.append((text, timestamp))
        return Extraction(extractor=self.name)

    async def close(self):
        self.closed += 1


async def test_without_an_extractor_in_the_settings_the_engine_uses_names():
    names = Provider(kind="extractor", name="names", factory=lambda _: Given())
    engine = MemoryEngine(Settings(), providers=Providers([*BUILT_IN, names]))
    assert engine.extractor_name == "names"
    assert (await engine.extract("text")).extractor == "given"
    await engine.close()


async def test_without_the_plugin_of_names_the_error_says_what_to_do(tmp_path):
    engine = MemoryEngine(Settings(store=f"sqlite://{tmp_path}/memory.db"), embedder=HashingEmbedder())
    with pytest.raises(ConfigurationError, match=r"'graph'.*extractor"):
        await engine.extract("text")
    added = await engine.add_memory("Anna works at Acme.")
    assert (added.status, added.entities_extracted) == ("success", None)
    stats = await engine.get_stats()
    assert (stats.total_memories, stats.unread_memories) == (1, None)
    await engine.close()


async def test_the_engine_uses_the_extractor_that_it_is_given_and_closes_it():
    given, moment = Given(), datetime(2023, 5, 8, tzinfo=UTC)
    engine = MemoryEngine(Settings(), extractor=given)
    await engine.in_workspace("other").extract("text", timestamp=moment)
    assert given.asked == [("text", moment)]
    await engine.close()
    assert given.closed == 1


async def test_the_engine_uses_the_extractor_that_the_settings_name_and_makes_it_once():
    made = []
    provider = Provider(kind="extractor", name="given", factory=lambda context: made.append(context) or Given())
    settings = Settings(extractor="given")
    engine = MemoryEngine(settings, providers=Providers([*BUILT_IN, provider]))
    assert made == []
    await engine.extract("one")
    assert (await engine.extract("two")).extractor == "given"
    assert made == [ProviderContext(settings=settings)]
    await engine.close()


async def test_an_unknown_extractor_is_reported_at_first_use():
    engine = MemoryEngine(Settings(extractor="lmm"))
    with pytest.raises(ConfigurationError, match=r"extractor 'lmm'.*'llm'"):
        await engine.extract("text")
    await engine.close()


async def test_the_extractor_by_a_language_model_says_what_it_needs_at_first_use():
    engine = MemoryEngine(Settings(extractor="llm"))
    with pytest.raises(ConfigurationError, match=r"llm\.provider"):
        await engine.extract("text")
    await engine.close()


async def test_the_extractor_by_a_language_model_is_made_of_the_settings():
    settings = Settings.model_validate({"extractor": "llm", "llm": {"provider": "ollama", "model": "wise"}})
    extractor = Providers(BUILT_IN).get("extractor", "llm").factory(ProviderContext(settings=settings))
    assert isinstance(extractor, LLMExtractor)
    await extractor.close()


def test_importing_the_package_loads_neither_arrays_nor_http():
    code = "import sys, zapomni_core.extraction; print([n for n in ('numpy', 'httpx') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
