"""The kit for plugin authors: run a plugin without a server, and hold it to the contract.

```python
async def test_hello():
    async with running(zapomni_plugin_hello, name="hello") as app:
        assert text_of(await app.call("hello", {"name": "Ada"})) == "Hello, Ada!"
```
"""

import pkgutil

import pytest

# Before they are imported: a test of the kit that fails in an author's project then says what it compared.
pytest.register_assert_rewrite(*(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}.")))

from zapomni_core.testing.contract import PluginContract  # noqa: E402 (not before that)
from zapomni_core.testing.failures import FailureContract  # noqa: E402 (not before that)
from zapomni_core.testing.running import RunningApp, running, text_of  # noqa: E402 (not before that)

__all__ = ["FailureContract", "PluginContract", "RunningApp", "running", "text_of"]
