"""The kit for plugin authors: run a plugin without a server, and hold it to the contract.

```python
async def test_hello():
    async with running(zapomni_plugin_hello, name="hello") as app:
        assert text_of(await app.call("hello", {"name": "Ada"})) == "Hello, Ada!"
```
"""

from zapomni_core.testing.contract import PluginContract
from zapomni_core.testing.failures import FailureContract
from zapomni_core.testing.running import RunningApp, running, text_of

__all__ = ["FailureContract", "PluginContract", "RunningApp", "running", "text_of"]
