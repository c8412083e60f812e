"""Runs plugins in this process, through the whole dispatch, without discovery and without a transport."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from zapomni_core import providers
from zapomni_core.app import App, build_app
from zapomni_core.errors import ConfigurationError
from zapomni_core.host.discovery import Found
from zapomni_core.host.report import PluginReport
from zapomni_core.settings import Settings


class RunningApp:
    """A running app with nothing in it but the plugins under test."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        return [tool.name for tool in self.app.registry]

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result of one call, through middleware, validation, limits and result checks."""
        return await self.app.dispatcher.call(tool, arguments or {}, client="zapomni.testing")


@asynccontextmanager
async def running(
    *plugins: Any, name: str | None = None, settings: Mapping[str, Any] | None = None
) -> AsyncIterator[RunningApp]:
    """An app of these plugins alone, started and stopped; whatever a plugin does wrong raises.

    `name` is that of the first plugin; names that are not given are taken from the modules' names. `settings` is what
    `zapomni.toml` would hold; where they name no store, the built-in one keeps what is stored until the app is stopped.
    """
    with _with_a_store(settings or {}, is_built_in=providers in plugins) as settled:
        names = [name or _name_of(plugins[0]), *map(_name_of, plugins[1:])] if plugins else []
        found = [Found(called, target=repr(one), plugin=one) for called, one in zip(names, plugins, strict=True)]
        app = build_app(Settings.model_validate(settled), plugins=found, strict=True)
        try:
            await app.start()
            await app.ready()
            _insist([_told(one) for one in app.report.in_state("failed")])
            yield RunningApp(app)
        finally:
            before = _warnings(app)
            await app.stop()
        _insist([one for one in _warnings(app) if one not in before])


def _told(plugin: PluginReport) -> str:
    return f"plugin '{plugin.name}' failed at {plugin.stage}: {plugin.cause} (fix: {plugin.fix})"


def _warnings(app: App) -> list[str]:
    return [f"plugin '{one.name}': {warning}" for one in app.report for warning in one.warnings]


def _insist(problems: list[str]) -> None:
    """A test fails by what is wrong with a plugin, where a server would go on without it."""
    if problems:
        raise ConfigurationError("\n".join(problems))


@contextmanager
def _with_a_store(settings: Mapping[str, Any], *, is_built_in: bool) -> Iterator[Mapping[str, Any]]:
    """The settings; what is tested must not find its way into the memory of whoever tests it."""
    if settings.get("store") or not is_built_in:
        yield settings
    else:
        with TemporaryDirectory(prefix="zapomni-test-") as folder:
            yield {**settings, "store": f"sqlite://{folder}/memory.db"}


def text_of(result: Mapping[str, Any]) -> str:
    """The readable text of a result."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def _name_of(plugin: Any) -> str:
    module = getattr(plugin, "__name__", type(plugin).__name__.lower())
    return str(module).rpartition(".")[2].removeprefix("zapomni_plugin_")
