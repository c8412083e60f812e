"""Runs plugins in this process, through the whole dispatch, without discovery and without a transport."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
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
    """A running app with the plugins under test and the built-in store, embedder and extractor."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def tools(self) -> list[str]:
        """The names of the tools."""
        return [tool.name for tool in self.app.registry]

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool through middleware, validation, limits and result checks; UnknownToolError if there is none."""
        return await self.app.dispatcher.call(tool, arguments or {}, client="zapomni.testing")


@asynccontextmanager
async def running(
    *plugins: Any, name: str | None = None, settings: Mapping[str, Any] | None = None
) -> AsyncIterator[RunningApp]:
    """Start an app with these plugins and stop it at the end; ConfigurationError if a plugin fails or warns at its end.

    `name` is that of the first plugin; the others are named after their modules or classes. `settings` has the content of
    a `zapomni.toml`; without a `store`, memories are stored in a temporary directory.
    """
    with _with_store(settings or {}) as complete:
        names = [name or _name_of(plugins[0]), *map(_name_of, plugins[1:])] if plugins else []
        found = [Found(called, target=repr(one), plugin=one) for called, one in zip(names, plugins, strict=True)]
        found.append(Found("builtin", target=repr(providers), plugin=providers))
        app = build_app(Settings.model_validate(complete), plugins=found, strict=True)
        try:
            await app.start()
            await app.ready()
            _raise(map(_failure, app.report.in_state("failed")))
            yield RunningApp(app)
        finally:
            before = _warnings(app)
            await app.stop()
        _raise(one for one in _warnings(app) if one not in before)


def text_of(result: Mapping[str, Any]) -> str:
    """The readable text of a result."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


@contextmanager
def _with_store(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The settings, with a temporary store where they name none: tests must not write to the user's memories."""
    if settings.get("store"):
        yield settings
    else:
        with TemporaryDirectory(prefix="zapomni-test-") as folder:
            yield {**settings, "store": f"sqlite://{folder}/memory.db"}


def _raise(problems: Iterable[str]) -> None:
    """Fail the test where a server would report the problem and go on without the plugin."""
    if found := list(problems):
        raise ConfigurationError("\n".join(found))


def _failure(plugin: PluginReport) -> str:
    return f"plugin '{plugin.name}' failed at {plugin.stage}: {plugin.cause} (fix: {plugin.fix})"


def _warnings(app: App) -> list[str]:
    return [f"plugin '{one.name}': {warning}" for one in app.report for warning in one.warnings]


def _name_of(plugin: Any) -> str:
    module = getattr(plugin, "__name__", type(plugin).__name__.lower())
    return str(module).rpartition(".")[2].removeprefix("zapomni_plugin_")
