"""Fixtures that run the plugin with a real store and with parts that a test can pause or break."""

import asyncio
import re
import time
from itertools import combinations

import pytest
import zapomni_plugin_graph

from zapomni_core import Settings
from zapomni_core.plugin import MemoryEngine, ProcessingError, Provider, hookimpl
from zapomni_core.plugin.extractors import Extraction, LLMUnavailableError, NewEntity, NewRelation, ProviderFailure
from zapomni_core.plugin.graph import MENTIONED_WITH
from zapomni_core.testing import HashingEmbedder, running

PATIENCE = 60
AWAY = ProviderFailure("RATE_LIMIT", "Later.", True, "Wait.", retry_after_seconds=0.05, transient=True)


class PacedExtractor:
    """Extracts the first word of a text once `may_go_on` is set; fails on a text with "poison".

    Becomes unavailable after `most` texts.
    """

    name = "paced"

    def __init__(self):
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.free = 0
        self.most = None
        self.read = []
        self.moments = []

    async def extract(self, text, *, timestamp=None):
        if self.free:
            self.free -= 1
        else:
            await self.may_go_on.wait()
        if self.most is not None and len(self.read) >= self.most:
            raise LLMUnavailableError(AWAY)
        self.read.append(text)
        self.moments.append(timestamp)
        if "poison" in text:
            raise ProcessingError("this cannot be read")
        word = text.split()[0]
        return Extraction(extractor=self.name, entities=(NewEntity(name=word, type="name", spans=((0, len(word)),)),))

    async def close(self):
        """Nothing to close."""


class PairsExtractor:
    """Extracts capitalised words and relates every two of them."""

    name = "pairs"

    async def extract(self, text, *, timestamp=None):
        places = {found[0]: found.span() for found in re.finditer(r"[A-Z]\w+", text)}
        entities = tuple(NewEntity(name=name, type="name", spans=(span,)) for name, span in places.items())
        relations = tuple(
            NewRelation(subject=one, type=MENTIONED_WITH, object=other, basis="mention", start=0, end=len(text))
            for one, other in combinations(places, 2)
        )
        return Extraction(extractor=self.name, entities=entities, relations=relations)

    async def close(self):
        """Nothing to close."""


class Parts:
    """A plugin that offers both extractors and an embedder."""

    def __init__(self):
        self.embedder = HashingEmbedder(name="hashing")
        self.extractor = PacedExtractor()

    @hookimpl
    def zapomni_providers(self):
        return [
            Provider(kind="embedder", name="hashing", factory=lambda _: self.embedder),
            Provider(kind="extractor", name="pairs", factory=lambda _: PairsExtractor()),
            Provider(kind="extractor", name="paced", factory=lambda _: self.extractor),
        ]


@pytest.fixture
def parts():
    return Parts()


@pytest.fixture
def store(tmp_path):
    return f"sqlite://{tmp_path}/memory.db"


@pytest.fixture
def graph_app(parts, store):
    """Opens an app with the plugin; its store outlives the app."""

    def open_app(wait_seconds=25, **settings):
        given = {"store": store, "embedder": "hashing", **settings}
        given["plugins"] = {"graph": {"wait_seconds": wait_seconds}}
        return running(zapomni_plugin_graph, parts, name="graph", settings=given)

    return open_app


@pytest.fixture
async def remember(parts, store):
    """Adds memories without extracting from them, as another process would; returns their ids."""
    engine = MemoryEngine(Settings(store=store), embedder=parts.embedder)

    async def add(*texts):
        return [(await engine.add_memory(text)).memory_id for text in texts]

    yield add
    await engine.close()


@pytest.fixture
def until():
    """Waits until `find` returns a true value and returns it."""

    async def look(find):
        deadline = time.monotonic() + PATIENCE
        while not (found := await find()):
            assert time.monotonic() < deadline, "timed out"
            await asyncio.sleep(0.02)
        return found

    return look
