"""The memory tools on one engine, and an embedder that fails."""

from zapomni_core.errors import ProcessingError
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_mcp.tools import (
    AddMemoryTool,
    DeleteMemoryTool,
    GetMemoryTool,
    GetStatsTool,
    RestoreMemoryTool,
    SearchMemoryTool,
)

TOOLS = (AddMemoryTool, SearchMemoryTool, GetStatsTool, GetMemoryTool, DeleteMemoryTool, RestoreMemoryTool)
HASHING = Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder())


class FailingEmbedder(HashingEmbedder):
    """Embeds so many texts, then fails."""

    def __init__(self, works_for=0):
        super().__init__()
        self._left = works_for

    async def _encode(self, texts):
        self._left -= len(texts)
        if self._left < 0:
            raise ProcessingError("the model at /home/somebody is broken")
        return await super()._encode(texts)


class MemoryTools:
    """The tools of one engine."""

    def __init__(self, engine):
        self.engine = engine
        self.store = engine.memories
        self.by_name = {made.name: made(core_engine=engine) for made in TOOLS}

    async def call(self, tool, **arguments):
        """Call a tool and return its result."""
        return await self.by_name[tool].execute(arguments)

    async def ask(self, tool, **arguments):
        """The structured content of a call that must succeed."""
        result = await self.call(tool, **arguments)
        assert result["isError"] is False, result
        return result["structuredContent"]

    async def add(self, text, metadata=None, **more):
        """Add a memory and return its id."""
        return (await self.ask("add_memory", text=text, metadata=metadata or {}, **more))["memory_id"]

    async def found(self, query, filters=None, **more):
        """The ids of the memories that a search finds, best first."""
        answer = await self.ask("search_memory", query=query, filters=filters, **more)
        return [hit["memory_id"] for hit in answer["results"]]

    async def counts(self):
        """Memories, chunks, deleted and replaced ones."""
        told = (await self.ask("get_stats"))["statistics"]
        keys = ("total_memories", "total_chunks", "deleted_memories", "superseded_memories")
        return tuple(told.get(key, 0) for key in keys)


def text_of(result):
    """The readable text of a result."""
    return result["content"][0]["text"]
