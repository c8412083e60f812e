"""The embedder with a real model from a folder, offline."""

import subprocess
import sys

import pytest
import zapomni_plugin_fastembed

from zapomni_core import MemoryEngine, Settings
from zapomni_core.plugin import ProcessingError, ProviderContext
from zapomni_core.plugin.embedders import EmbedderIdentity
from zapomni_core.testing import EmbedderContract, running

MODEL = "BAAI/bge-small-en-v1.5"


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    """Whatever a test does, the library downloads nothing."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def make(recorded=None, **table):
    settings = Settings.model_validate({"plugins": {"fastembed": {"threads": 1} | table}})
    return zapomni_plugin_fastembed.make_embedder(ProviderContext(settings=settings, recorded=recorded))


class TestFastembed(EmbedderContract):
    name = "fastembed"

    @pytest.fixture
    async def embedder(self, bge):
        embedder = make(folder=str(bge))
        yield embedder
        await embedder.close()


async def test_memories_are_found_by_meaning_with_a_model_from_a_folder(bge, tmp_path):
    settings = {
        "store": f"sqlite://{tmp_path}/memory.db",
        "embedder": "fastembed",
        "plugins": {"fastembed": {"folder": str(bge), "threads": 1}},
    }
    async with running(zapomni_plugin_fastembed, settings=settings) as app:
        engine: MemoryEngine = app.app.engine
        await engine.add_memory("His daughter has been taking cello lessons since she was seven.")
        await engine.add_memory("The garage charged 480 euros for new brakes.")
        found = await engine.search_memory("What did the repair of the vehicle cost?")
        assert found.degraded is None
        assert found.hits[0].text == "The garage charged 480 euros for new brakes."
        identity = EmbedderIdentity("fastembed", MODEL, 384)
        weight = await engine.memories.vectors.weight("default", identity)
        assert weight.weight == pytest.approx(1.15, abs=0.05)
        assert not weight.cyrillic


def test_the_model_of_a_workspace_is_used_where_the_settings_leave_it_open():
    recorded = EmbedderIdentity("fastembed", "sentence-transformers/all-MiniLM-L6-v2", 384)
    assert make(recorded).identity == recorded
    assert make(recorded, model=MODEL).identity == EmbedderIdentity("fastembed", MODEL, 0)


def test_known_models_get_their_prefixes():
    assert make().profile.query_prefix.startswith("Represent this sentence")
    assert make(model="intfloat/multilingual-e5-large").profile.passage_prefix == "passage: "
    assert make(model="sentence-transformers/all-MiniLM-L6-v2").profile.query_prefix == ""


async def test_an_unknown_model_is_reported_with_the_nearest():
    embedder = make(model="BAAI/bge-smal-en-v1.5")
    with pytest.raises(ProcessingError, match=r"did you mean BAAI/bge-small-en-v1\.5\?"):
        await embedder.embed(["text"])
    await embedder.close()


async def test_a_folder_without_the_model_is_reported_with_its_setting(tmp_path):
    embedder = make(folder=str(tmp_path))
    with pytest.raises(ProcessingError, match=r"plugins\.fastembed\.folder"):
        await embedder.embed(["text"])
    await embedder.close()


async def test_a_failed_download_is_reported_and_not_repeated_at_once(tmp_path):
    embedder = make(cache=str(tmp_path / "cache"))
    assert embedder.needs_download() == f"{MODEL}, 67 MB"
    with pytest.raises(ProcessingError, match="could not be downloaded") as first:
        await embedder.embed(["text"])
    with pytest.raises(ProcessingError) as second:
        await embedder.embed(["text"])
    assert second.value is first.value
    await embedder.close()


def test_a_model_in_a_folder_needs_no_download(bge):
    assert make(folder=str(bge)).needs_download() == ""


def test_loading_the_plugin_and_building_the_embedder_import_neither_the_library_nor_numpy():
    code = (
        "import sys, zapomni_plugin_fastembed as plugin\n"
        "from zapomni_core import Settings\n"
        "from zapomni_core.plugin import ProviderContext\n"
        "plugin.zapomni_providers(); plugin.make_embedder(ProviderContext(settings=Settings()))\n"
        "print([name for name in ('fastembed', 'onnxruntime', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
