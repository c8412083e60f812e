"""The extractor by rules as the engine uses it: in a thread, chosen where nobody chose another, and ended when cancelled."""

import asyncio
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest

from zapomni_core.engine import MemoryEngine
from zapomni_core.errors import ConfigurationError
from zapomni_core.extraction import reading
from zapomni_core.extraction.llm import LLMExtractor
from zapomni_core.extraction.rules import RulesExtractor
from zapomni_core.provider import Provider, ProviderContext, Providers
from zapomni_core.providers import BUILT_IN
from zapomni_core.settings import Settings
from zapomni_db.records import Extraction


class Given:
    """An extractor that remembers what it was asked."""

    name = "given"

    def __init__(self):
        self.asked = []
        self.closed = 0

    async def extract(self, text, *, timestamp=None):
        self.asked.append((text, timestamp))
        return Extraction(extractor=self.name)

    async def close(self):
        self.closed += 1


async def test_it_says_who_read():
    extractor = RulesExtractor()
    found = await extractor.extract("Anna works at Acme.", timestamp=datetime(2023, 5, 8, tzinfo=UTC))
    await extractor.close()
    assert found == reading.read("Anna works at Acme.")
    assert found.extractor == extractor.name == "rules"


async def test_what_is_so_no_more_ended_at_the_time_of_the_text_or_now():
    text, moment = "Anna no longer works at Acme.", datetime(2023, 5, 8, tzinfo=UTC)
    (then,) = (await RulesExtractor().extract(text, timestamp=moment)).relations
    (now,) = (await RulesExtractor().extract(text)).relations
    assert then.valid_until == moment
    assert now.valid_until > moment


async def test_it_reads_in_another_thread(monkeypatch):
    threads = []

    def read(*_):
        threads.append(threading.current_thread())
        return Extraction(extractor="rules")

    monkeypatch.setattr(reading, "read", read)
    await RulesExtractor().extract("text")
    assert threads[0] is not threading.current_thread()


async def test_whoever_is_cancelled_stops_the_reading(monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def read(_text, is_stopped, _moment):
        begun.set()
        while not is_stopped():
            pass
        ended.set()

    monkeypatch.setattr(reading, "read", read)
    task = asyncio.create_task(RulesExtractor().extract("text"))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 30)


async def test_the_engine_reads_by_rules_where_the_settings_name_nobody():
    engine = MemoryEngine(Settings())
    found = await engine.extract("Anna works at Acme.")
    await engine.close()
    assert found.extractor == "rules"
    assert [entity.name for entity in found.entities] == ["Anna", "Acme"]


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
    engine = MemoryEngine(settings, Providers([*BUILT_IN, provider]))
    assert made == []
    await engine.extract("one")
    assert (await engine.extract("two")).extractor == "given"
    assert made == [ProviderContext(settings=settings)]
    await engine.close()


async def test_an_extractor_that_nobody_offers_is_told_at_first_use():
    engine = MemoryEngine(Settings(extractor="rule"))
    with pytest.raises(ConfigurationError, match=r"^no plugin offers the extractor 'rule'; did you mean 'rules'\?$"):
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


def test_importing_the_package_compiles_nothing_and_loads_no_http():
    code = "import sys, zapomni_core.extraction; print([n for n in ('numpy', 'httpx', 'zapomni_core.extraction.words') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
