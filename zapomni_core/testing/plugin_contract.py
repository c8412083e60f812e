"""The contract of a plugin as a test class."""

from collections.abc import Mapping
from typing import Any, ClassVar

from zapomni_core.host.registry import lint
from zapomni_core.testing.app import running


class PluginContract:
    """A plugin loads, starts and stops, and its tools read well and refuse wrong calls.

    ```python
    class TestContract(PluginContract):
        plugin = zapomni_plugin_hello
        name = "hello"
    ```
    """

    plugin: ClassVar[Any]
    name: ClassVar[str]
    settings: ClassVar[Mapping[str, Any]] = {}

    async def test_it_loads_and_starts_and_stops(self) -> None:
        """Raises what is wrong with its hooks, settings, tools, middleware or lifespan."""
        async with running(self.plugin, name=self.name, settings=self.settings) as app:
            report = app.app.report.get(self.name)
        assert report is not None
        assert report.state == "loaded", report.cause
        assert report.warnings == []

    async def test_its_tools_read_well(self) -> None:
        """The lint rules: parameters have descriptions, annotations are stated, the size is modest."""
        async with running(self.plugin, name=self.name, settings=self.settings) as app:
            assert [advice for tool in app.app.registry for advice in lint(tool)] == []

    async def test_its_tools_refuse_unknown_arguments_with_a_result(self) -> None:
        """A wrong call returns an error result and raises nothing."""
        async with running(self.plugin, name=self.name, settings=self.settings) as app:
            for tool in app.tools:
                result = await app.call(tool, {"no such argument": None})
                assert result["isError"] is True, tool
