"""Entities get vectors by the new embedder too when a store is reindexed."""

from contextlib import closing

import apsw
import pytest

from zapomni_core.reindexing import embed_entities, reindex
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.extractions import mention
from zapomni_core.testing.samples import EMBEDDER, WORKSPACE
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.sqlite import SQLiteStore


@pytest.fixture
async def store(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    await mention(store, "Ada met Grace", "Ada", "Grace")
    yield store
    await store.close()


async def test_reindexing_gives_entities_vectors_by_the_new_embedder(store):
    new = HashingEmbedder(40, name="new")
    assert await reindex(store, WORKSPACE, new) == 1
    assert await store.embedder(WORKSPACE) == new.identity
    assert await store.graph.without_vector(WORKSPACE, new.identity, 9) == []
    vector = (await new.embed(["Grace"], query=True))[0]
    ((best, _), *_) = await store.graph.find(WORKSPACE, "?", vector, new.identity, 2)
    assert best.name == "Grace"
    assert await store.check() == []


async def test_reindexing_leaves_no_vectors_of_entities_by_the_old_embedder(store, tmp_path):
    old = HashingEmbedder(EMBEDDER.dimension)
    old.identity = EMBEDDER
    assert await embed_entities(store, old, WORKSPACE) == 2
    await reindex(store, WORKSPACE, HashingEmbedder(40, name="new"))
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        for table in ("entity_vector", "entity_code"):
            assert connection.execute(f"SELECT count(*) FROM {table}").get == 2


async def test_entities_get_only_the_vectors_that_they_lack(store):
    embedder = HashingEmbedder(EMBEDDER.dimension)
    embedder.identity = EMBEDDER
    assert await embed_entities(store, embedder, WORKSPACE) == 2
    assert await embed_entities(store, embedder, WORKSPACE) == 0
    await mention(store, "Alan", "Alan")
    assert await embed_entities(store, embedder, WORKSPACE) == 1


async def test_nothing_is_made_by_an_embedder_that_does_not_serve(store):
    with pytest.raises(EmbedderMismatchError):
        await embed_entities(store, HashingEmbedder(40, name="new"), WORKSPACE)
    assert await store.embedder(WORKSPACE) == EMBEDDER


async def test_a_store_without_a_graph_has_no_entities_to_embed():
    assert await embed_entities(object(), HashingEmbedder(8), WORKSPACE) == 0
