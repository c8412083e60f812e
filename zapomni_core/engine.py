"""The memory engine: what plugins are given to work with."""

from typing import Self

from zapomni_core.settings import Settings


class MemoryEngine:
    """One workspace's memory. Built at once and connected on first use, so that listing tools needs no database."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.workspace = self.settings.workspace

    def in_workspace(self, name: str) -> Self:
        """The same engine bound to another workspace."""
        return type(self)(Settings.model_validate({**self.settings.model_dump(), "workspace": name}))

    async def initialize(self) -> None:
        """Connect now instead of on first use; connecting twice is connecting once."""

    async def close(self) -> None:
        """Let go of everything; closing twice is closing once."""
