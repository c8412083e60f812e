"""A real engine on a real SQLite file. Its embedder hashes words, so that only tests of the real one load a model."""

import pytest

from tests.integration.mcp.memory_tools import HASHING, House
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import BUILT_IN, Providers
from zapomni_core.settings import Settings


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
async def open_house(path):
    """Opens the test's file, each time with an engine and a store of its own, as processes do."""
    opened = []

    def open_house(*, embedder="hashing", offered=(HASHING,), workspace="default", made=None):
        settings = Settings(store=f"sqlite://{path}", embedder=embedder, workspace=workspace)
        opened.append(MemoryEngine(settings, providers=Providers([*BUILT_IN, *offered]), embedder=made))
        return House(opened[-1])

    yield open_house
    for engine in opened:
        await engine.close()


@pytest.fixture
def house(open_house):
    return open_house()
