"""The plugin over a real store: what it needs to be run, and parts that a test can hold up or break."""

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
    """Reads the first word of a text, as soon as it may; a text that speaks of poison it cannot read.

    Where it has read `most` texts, it is away.
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
        """There is nothing to close."""


class PairsExtractor:
    """Reads capitalised words, and that every two of them are mentioned together."""

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
        """There is nothing to close."""


class Parts:
    """A plugin that offers these, and an embedder."""

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
    """An app with the plugin and a store that stays when it is closed."""

    def open_app(wait_seconds=25, **settings):
        given = {"store": store, "embedder": "hashing", **settings}
        given["plugins"] = {"graph": {"wait_seconds": wait_seconds}}
        return running(zapomni_plugin_graph, parts, name="graph", settings=given)

    return open_app


@pytest.fixture
async def remember(parts, store):
    """Adds memories that no extractor has read, as another process does; their ids."""
    engine = MemoryEngine(Settings(store=store), embedder=parts.embedder)

    async def add(*texts):
        return [(await engine.add_memory(text)).memory_id for text in texts]

    yield add
    await engine.close()


@pytest.fixture
def until():
    """Waits for what `find` finds."""

    async def look(find):
        deadline = time.monotonic() + PATIENCE
        while not (found := await find()):
            assert time.monotonic() < deadline, "it never came"
            await asyncio.sleep(0.02)
        return found

    return look
