"""A program that passes no settings uses the same memory as the server."""

import pytest

from zapomni_core import ConfigurationError, MemoryEngine, MemoryManager, Settings


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The user's store and workspace, one in the settings file and one in the environment."""
    url = f"sqlite://{tmp_path}/mine.db"
    (tmp_path / "zapomni.toml").write_text(f'store = "{url}"\n')
    monkeypatch.setenv("ZAPOMNI_CONFIG", str(tmp_path / "zapomni.toml"))
    monkeypatch.setenv("ZAPOMNI_WORKSPACE", "garden")
    return tmp_path / "mine.db"


async def test_an_engine_without_settings_has_those_of_the_user(written):
    engine = MemoryEngine()
    assert not written.exists()
    stats = await engine.get_stats()
    await engine.close()
    assert (stats.location, stats.graph_name) == (str(written), "garden")


async def test_a_manager_without_an_engine_has_the_settings_of_the_user(written):
    manager = MemoryManager()
    document = await manager.store_document("Herons eat fish.")
    await manager.close()
    engine = MemoryEngine(Settings(store=f"sqlite://{written}", workspace="garden"))
    assert (await engine.get_memory(str(document))).text == "Herons eat fish."
    await engine.close()


async def test_settings_passed_by_a_program_replace_those_of_the_user(written):
    assert MemoryEngine(Settings()).workspace == "default"


async def test_invalid_settings_are_refused_on_first_use(monkeypatch):
    monkeypatch.setenv("ZAPOMNI_WORKSPACE", "x" * 65)
    engine = MemoryEngine()
    with pytest.raises(ConfigurationError, match="workspace"):
        await engine.get_stats()
    await engine.close()
