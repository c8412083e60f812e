"""The kit for plugin authors: run a plugin without a server, and hold it to the contract.

```python
async def test_hello(run_plugin):
    app = await run_plugin(zapomni_plugin_hello, name="hello")
    assert text_of(await app.call("hello", {"name": "Ada"})) == "Hello, Ada!"
```

`run_plugin` and `llm_server` are fixtures that pytest finds by itself. The contracts and fixtures need the extra: `pip
install 'zapomni[testing]'`. Suites for stores are in `zapomni_core.testing.store_contracts`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zapomni_core.testing.app import RunningApp, running, text_of
    from zapomni_core.testing.embedder import HashingEmbedder
    from zapomni_core.testing.embedder_contract import EmbedderContract, RemoteEmbedderContract
    from zapomni_core.testing.failure_contract import FailureContract
    from zapomni_core.testing.llm_server import LLMServer
    from zapomni_core.testing.plugin_contract import PluginContract
    from zapomni_db.reference import ReferenceStore

__all__ = [
    "EmbedderContract",
    "FailureContract",
    "HashingEmbedder",
    "LLMServer",
    "PluginContract",
    "ReferenceStore",
    "RemoteEmbedderContract",
    "RunningApp",
    "running",
    "text_of",
]

_MODULES = {
    "EmbedderContract": "zapomni_core.testing.embedder_contract",
    "FailureContract": "zapomni_core.testing.failure_contract",
    "HashingEmbedder": "zapomni_core.testing.embedder",
    "LLMServer": "zapomni_core.testing.llm_server",
    "PluginContract": "zapomni_core.testing.plugin_contract",
    "ReferenceStore": "zapomni_db.reference",
    "RemoteEmbedderContract": "zapomni_core.testing.embedder_contract",
    "RunningApp": "zapomni_core.testing.app",
    "running": "zapomni_core.testing.app",
    "text_of": "zapomni_core.testing.app",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: every pytest of this environment imports this package."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
