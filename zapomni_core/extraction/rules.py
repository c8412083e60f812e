"""The extractor that needs no model: names, identifiers, paths, addresses, dates and tags, and what clear patterns say of them."""

import asyncio
import threading
from datetime import UTC, datetime

from zapomni_db.records import Extraction


class RulesExtractor:
    """Reads what has a shape in any script and names by their capital letters, gives the same for the same text at the same time, and calls nobody."""

    name = "rules"

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        """What a text speaks of, read in a thread. Whoever is cancelled stops waiting at once, and the reading soon after.

        What it says to be so no more ended at `timestamp`, or now.
        """
        from zapomni_core.adding import attended
        from zapomni_core.extraction.reading import read

        stop = threading.Event()
        try:
            return await attended(
                asyncio.to_thread(read, text, stop.is_set, timestamp or datetime.now(UTC)),
                0,
                "reading what the text speaks of",
            )
        finally:
            stop.set()

    async def close(self) -> None:
        """There is nothing to close."""
