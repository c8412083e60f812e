"""A store in a file of its own."""

import pytest

from zapomni_db.sqlite import SQLiteStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "memory.db"


@pytest.fixture
async def store(path):
    store = SQLiteStore(path)
    yield store
    await store.close()
