"""The kit that runs plugins for their tests."""

import tempfile

from zapomni_core import providers
from zapomni_core.plugin import hookimpl
from zapomni_core.testing import running


class Quiet:
    """A plugin that offers nothing."""

    @hookimpl
    def zapomni_tools(self):
        return []


async def test_what_a_test_stores_is_gone_with_the_app(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with running(Quiet(), providers) as app:
        await app.app.engine.add_memory("The harp is in the hall.")
        assert len(list(tmp_path.glob("*/memory.db"))) == 1
    assert not list(tmp_path.iterdir())


async def test_a_store_that_the_settings_name_stays(tmp_path):
    async with running(Quiet(), providers, settings={"store": f"sqlite://{tmp_path}/memory.db"}) as app:
        await app.app.engine.add_memory("The harp is in the hall.")
    assert (tmp_path / "memory.db").exists()
