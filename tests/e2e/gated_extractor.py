"""A plugin with an extractor that stops half-way, until the file GATED_BY is there; it writes to GATED_JOURNAL what it reads."""

import asyncio
import os
from pathlib import Path

from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.plugin.extractors import Extraction, NewEntity
from zapomni_core.testing.embedder import HashingEmbedder

FREE = 5


def note(text):
    with Path(os.environ["GATED_JOURNAL"]).open("a") as journal:
        journal.write(f"{text}\n")


def may_go_on():
    return Path(os.environ["GATED_BY"]).exists()


class Gated:
    """Reads the first word of a text; of the sixth text on, only when it may."""

    name = "gated"

    def __init__(self):
        self._read = 0

    async def extract(self, text, *, timestamp=None):
        self._read += 1
        note(text)
        while self._read > FREE and not may_go_on():  # noqa: ASYNC110 (another process says so)
            await asyncio.sleep(0.05)
        word = text.split()[0]
        return Extraction(extractor=self.name, entities=(NewEntity(name=word, type="name", spans=((0, len(word)),)),))

    async def close(self):
        """There is nothing to close."""


@hookimpl
def zapomni_providers():
    return [
        Provider(kind="extractor", name="gated", factory=lambda _context: Gated()),
        Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder()),
    ]
