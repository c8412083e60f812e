"""Fixtures for tests of plugins. pytest loads this module by itself wherever Zapomni is installed.

So it imports nothing of Zapomni until a fixture is used, and works without the extra `testing` until then.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zapomni_core.testing.app import RunningApp
    from zapomni_core.testing.llm_server import LLMServer

    RunPlugin = Callable[..., Coroutine[Any, Any, RunningApp]]

# A contract that fails in an author's project then shows what it compared.
_CONTRACTS = ("failure_contract", "plugin_contract", "store_contracts")
pytest.register_assert_rewrite(*(f"zapomni_core.testing.{name}" for name in _CONTRACTS))


@pytest.fixture
def llm_server() -> "Iterator[LLMServer]":
    """A language model server on this machine; it answers `{}` until the test sets other replies."""
    from zapomni_core.testing.llm_server import LLMServer

    with LLMServer() as server:
        yield server


try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:

    @pytest.fixture(name="run_plugin")
    def _run_nothing() -> None:
        """Fails with what to install."""
        pytest.fail("the fixture run_plugin needs pytest-asyncio; run: pip install 'zapomni[testing]'", pytrace=False)

else:

    @async_fixture(name="run_plugin")
    async def _run_plugin() -> "AsyncIterator[RunPlugin]":
        """Starts an app with plugins, with the arguments of `running`, and stops it at the end of the test."""
        from zapomni_core.testing.app import running

        async with AsyncExitStack() as apps:

            async def run(*plugins: Any, **options: Any) -> "RunningApp":
                return await apps.enter_async_context(running(*plugins, **options))

            yield run
