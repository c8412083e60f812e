"""The extractor protocol. Any object of this shape is an extractor; there is nothing to inherit."""

from datetime import datetime
from typing import Protocol

from zapomni_db.records import Extraction


class Extractor(Protocol):
    """Extracts entities and relations from texts. It connects on first use; `close` is idempotent and final."""

    @property
    def name(self) -> str:
        """The name that the user chose it by. It is stored with what was extracted."""
        ...

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        """Extract what a text says. Takes any text; spans and quotes count its characters.

        `timestamp` is when the text was true, for words like "yesterday". A relation without a known beginning has no
        `valid_from`. Raises LLMUnavailableError if a language model is needed and unavailable, else ProcessingError.
        """
        ...

    async def close(self) -> None: ...
