"""What an extractor must be. Any object of this shape is one; there is nothing to inherit."""

from datetime import datetime
from typing import Protocol

from zapomni_db.records import Extraction


class Extractor(Protocol):
    """Reads entities and relations in texts. It connects on first use; `close` is idempotent, and final."""

    @property
    def name(self) -> str:
        """Who read it. It is kept beside what was read, and is the name that the user chose it by."""
        ...

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        """What a text speaks of. Takes any text; spans and quotes count its characters.

        `timestamp` is when the text was true, for what it says of yesterday. A relation that does not say since when it holds
        has no `valid_from`. Raises LLMUnavailableError where a language model is needed and away, else ProcessingError.
        """
        ...

    async def close(self) -> None: ...
