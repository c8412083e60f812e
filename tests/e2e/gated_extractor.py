"""A plugin with an extractor that logs texts to GATED_JOURNAL and stops half-way until the file GATED_BY exists."""

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


def is_open():
    return Path(os.environ["GATED_BY"]).exists()


class Gated:
    """Extracts the first word of a text; from the sixth text on, waits for the file."""

    name = "gated"

    def __init__(self):
        self._read = 0

    async def extract(self, text, *, timestamp=None):
        self._read += 1
        note(text)
        while self._read > FREE and not is_open():  # noqa: ASYNC110 (another process says so)
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
