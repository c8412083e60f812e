"""The extractor that needs no model: names, identifiers, paths, addresses, dates and tags, and what clear patterns say of them."""

import asyncio
import threading
from datetime import datetime

from zapomni_db.records import Extraction


class RulesExtractor:
    """Reads any script, gives the same for the same text, and calls nobody."""

    name = "rules"

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:  # noqa: ARG002 (rules know no yesterday)
        """What a text speaks of, read in a thread. Whoever is cancelled stops waiting at once, and the reading soon after."""
        from zapomni_core.adding import attended
        from zapomni_core.extraction.reading import read

        stop = threading.Event()
        try:
            return await attended(asyncio.to_thread(read, text, stop.is_set), 0, "reading what the text speaks of")
        finally:
            stop.set()

    async def close(self) -> None:
        """There is nothing to close."""
