"""The memory tools on a SQLite file, with the hashing embedder unless a test is about the default one."""

import pytest

from tests.integration.mcp.memory_tools import HASHING, MemoryTools
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import BUILT_IN, Providers
from zapomni_core.settings import Settings


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
async def open_tools(path):
    """Open the test's file, each time with an engine and a store of its own, as processes do."""
    opened = []

    def open_tools(*, embedder="hashing", offered=(HASHING,), workspace="default", made=None):
        settings = Settings(store=f"sqlite://{path}", embedder=embedder, workspace=workspace)
        opened.append(MemoryEngine(settings, providers=Providers([*BUILT_IN, *offered]), embedder=made))
        return MemoryTools(opened[-1])

    yield open_tools
    for engine in opened:
        await engine.close()


@pytest.fixture
def tools(open_tools):
    return open_tools()
