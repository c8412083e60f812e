"""The composition: `build_app` makes settings, engine, plugins, tools and dispatch into an app."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.dispatch.dispatcher import Dispatcher
from zapomni_core.errors import ConfigurationError, PluginError
from zapomni_core.host.discovery import Found, bare_name, discover
from zapomni_core.host.lifespans import Lifespans
from zapomni_core.host.loading import Loader, Offer
from zapomni_core.host.registry import CheckedTool, ToolRegistry
from zapomni_core.host.report import HostReport, PluginReport
from zapomni_core.memory.components import Components
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.models import HostStats
from zapomni_core.providers import Kind, Providers
from zapomni_core.settings import Settings
from zapomni_core.telemetry import NO_TELEMETRY, Telemetry

if TYPE_CHECKING:
    from zapomni_core.host.commands import Commands

log = logging.getLogger("zapomni.app")

T = TypeVar("T")


def build_app(
    settings: Settings | None = None,
    *,
    engine: Any = None,
    plugins: Sequence[Found] | None = None,
    strict: bool = False,
    program: str = "",
    insist: bool = True,
    meanwhile: Callable[[], object] = lambda: None,
) -> "App":
    """Build the app that the server, the command line, tests and programs use.

    `engine` replaces the engine that the settings describe. `plugins` are the plugins to load: the installed ones unless
    given. `program` is the name in the history of memories for what no client asked for. Raises ConfigurationError if
    something that the user chose failed, with `strict` also for any other plugin; without `insist`, that is `app.problem`.
    `meanwhile` is called if an import takes long.
    """
    app = App(settings, engine)
    if components := _given(app.engine, "components", Components):
        components.program = program or components.program
    try:
        app.load(discover() if plugins is None else plugins, strict=strict, meanwhile=meanwhile)
    except ConfigurationError as error:
        if insist:
            raise
        app.problem = str(error)
    return app


class App:
    """A composed Zapomni: its tools can be listed and called; nothing is open before `start`."""

    def __init__(self, settings: Settings | None = None, engine: Any = None) -> None:
        self.settings = settings or _given(engine, "settings", Settings) or Settings()
        self.problem: str | None = None
        self._providers = _given(engine, "providers", Providers) or Providers()
        self._builds_components = engine is None
        self.engine = engine if engine is not None else MemoryEngine(self.settings, providers=self._providers)
        if components := _given(self.engine, "components", Components):
            components.host_stats = self.host_stats
        self.registry = ToolRegistry()
        self._telemetry: Telemetry = getattr(self.engine, "telemetry", NO_TELEMETRY)
        self._is_serving = False
        self._is_stopped = False
        self._loading: asyncio.Task[None] | None = None
        self.dispatcher = Dispatcher(
            self.registry,
            timeouts=_timeouts(self.settings),
            wait_ready=self._wait_ready,
            on_call=self._telemetry.record_call,
        )
        self.on_tools_changed: Callable[[], None] = lambda: None
        self.failed_requirement: asyncio.Event = asyncio.Event()
        self._loader = Loader(self.engine, self.settings, self.registry, self.dispatcher, self._providers)
        self._lifespans = Lifespans(self._loader.lifespans, self.settings.plugins.start_seconds)

    @property
    def report(self) -> HostReport:
        """The state of each plugin."""
        return self._loader.report

    @property
    def commands(self) -> "Commands":
        """The plugins' commands."""
        return self._loader.commands

    def offer(self, plugin: PluginReport) -> Offer:
        """A reported plugin's object, its settings and what it offers."""
        return self._loader.offer(plugin)

    def load(
        self, found: Sequence[Found], *, strict: bool = False, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Load plugins. A broken plugin is reported; ConfigurationError if something that the user chose failed.

        `meanwhile` is called if an import takes long.
        """
        with _loggers_kept():
            self._loader.load(found, meanwhile)
        for plugin in self.report.in_state("failed"):
            log.warning("plugin_failed", extra=_failure(plugin))
        for plugin in self.report:
            for warning in plugin.warnings:
                log.warning("plugin_warning", extra={"plugin": plugin.name, "warning": warning})
        problems = _broken_choices(self.settings, self.report, found, strict=strict)
        if self._builds_components and any(one.entry_point for one in found):  # else no plugin was asked for components
            problems += _missing_components(self.settings, self._providers, self.report.in_state("failed"))
        if self._builds_components:
            problems += _unusable_components(self.settings, self._providers)
        if problems:
            raise ConfigurationError("\n".join(problems))

    def host_stats(self) -> HostStats:
        """The host's part of `get_stats`: every plugin, and counts of calls."""
        return HostStats(
            plugins=tuple(one.for_clients() for one in self.report),
            calls={name: counts.as_dict() for name, counts in self.dispatcher.counts.items()},
        )

    async def start(self, *, bundled: bool = True) -> None:
        """Open the plugins' lifespans in the background, load telemetry, and run jobs from now on.

        Without `bundled`, only the lifespans of other plugins are opened: a command looks whether they can be.
        """
        if bundled and not self._is_serving:
            self._is_serving = True
            if self.settings.telemetry.enabled:
                self._loading = asyncio.create_task(self._telemetry.load(), name="telemetry")
            if isinstance(self.engine, MemoryEngine):
                self.engine.serve_jobs()
        left_out = set() if bundled else {one.name for one in self.report if one.bundled}
        self._lifespans.start(self._lost, left_out)

    async def ready(self) -> None:
        """Wait until every lifespan is open or has failed; the report then names the failed ones."""
        await self._lifespans.settled()

    async def stop(self) -> None:
        """Close the lifespans in reverse order, then the engine. Calls that come later are refused."""
        self._is_stopped = True
        for plugin, problem in (await self._lifespans.close()).items():
            if report := self.report.get(plugin):
                report.warnings.append(f"its lifespan failed to close: {problem}")
        await self._loaded()
        closing = getattr(self.engine, "close", _nothing)()
        if inspect.isawaitable(closing):
            await closing

    async def _wait_ready(self, tool: CheckedTool) -> str | None:
        """A call waits for the lifespans of its own plugin and of the middleware around it, and for telemetry.

        It is refused where a transform or guard that must see it could not start.
        """
        if self._is_stopped:
            return f"Tool '{tool.name}' is not available: the server has stopped."
        await self.start()
        await self._loaded()
        for link in self.dispatcher.links:
            failure = await self._lifespans.ready(link.plugin)
            if failure and link.stage != "observe":
                report = self.report.get(link.plugin)
                fix = f"Fix it, or {report.removal}" if report else "Fix it"
                return (
                    f"Tool '{tool.name}' cannot be called: {link}, could not start ({failure.public_cause}). "
                    f"{fix}; then start the server again."
                )
        if await self._lifespans.ready(tool.plugin):
            return f"Tool '{tool.name}' is not available: plugin '{tool.plugin}' could not start."
        return None

    async def _loaded(self) -> None:
        if self._loading is not None:
            await asyncio.wait([self._loading])

    def _lost(self, plugin: str, failure: PluginError) -> None:
        """Withdraw a plugin whose lifespan failed; one that is required takes the server with it.

        Its transforms and guards stay, and every call is refused because of them.
        """
        self.registry.withdraw(plugin)
        self.dispatcher.withdraw_observers(plugin)
        self._providers.withdraw(plugin)
        report = self.report.get(plugin)
        if report is not None:
            failure.fix = f"{failure.fix}, or {report.removal}"
            report.fail(failure)
            if _is_required(report, self.settings):
                self.failed_requirement.set()
        fields: dict[str, Any] = {"plugin": plugin, "stage": failure.stage, "cause": str(failure), "fix": failure.fix}
        refuses_calls = any(link.plugin == plugin for link in self.dispatcher.links)
        log.error("plugin_withdrawn", extra=fields | {"refuses_calls": refuses_calls})
        self.on_tools_changed()


@contextmanager
def _loggers_kept() -> Iterator[None]:
    """Keep Zapomni's loggers enabled, whatever plugins do to logging while they are loaded.

    `logging.config.dictConfig` disables every logger that was there before, by default, and
    `logging.disable` disables all.
    """
    disabled = logging.root.manager.disable
    yield
    logging.disable(disabled)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and name.partition(".")[0] == "zapomni":
            logger.disabled = False


def _given(engine: Any, name: str, kind: type[T]) -> T | None:
    """An attribute of a given engine; None if it is not of that type, as with a mock."""
    value = getattr(engine, name, None)
    return value if isinstance(value, kind) else None


def _nothing() -> None:
    """The `close` of an engine that has none."""


def _timeouts(settings: Settings) -> Mapping[str, float]:
    return {name: tool.timeout_seconds for name, tool in settings.tools.items() if tool.timeout_seconds}


def _broken_choices(settings: Settings, report: HostReport, found: Sequence[Found], *, strict: bool) -> list[str]:
    named_files = {str(one.target) for one in found if one.file}
    problems = [
        _problem(one)
        for one in report.in_state("failed")
        if strict or one.source in named_files or _is_required(one, settings)
    ]
    return problems + [problem for entry in settings.plugins.require if (problem := _unmet(entry, report))]


def _missing_components(settings: Settings, providers: Providers, failed: Sequence[PluginReport]) -> list[str]:
    """The components in the settings that no plugin offers, and the plugins that failed, one of which might offer them."""
    missing = [problem for kind, name in _chosen(settings) if (problem := providers.missing(kind, name))]
    if missing and failed:
        missing.append(f"{len(failed)} failed ({', '.join(one.name for one in failed)}), run: zapomni doctor")
    return missing


def _unusable_components(settings: Settings, providers: Providers) -> list[str]:
    """Why plugins' components in the settings cannot be built. Built-in ones are built when they are needed."""
    from zapomni_core.providers import BUILT_IN

    offered = [providers.get(kind, name) for kind, name in _chosen(settings) if providers.offers(kind, name)]
    of_plugins = [one for one in offered if one not in BUILT_IN]
    return [problem for one in of_plugins if (problem := providers.problem(one.kind, one.name, settings))]


def _chosen(settings: Settings) -> list[tuple[Kind, str]]:
    """The components that the user chose."""
    named: dict[Kind, str | None] = {
        "store": settings.store and settings.store.partition("://")[0],
        "embedder": settings.embedder,
        "extractor": settings.extractor,
    }
    return [(kind, name) for kind, name in named.items() if name]


def _failure(plugin: PluginReport) -> dict[str, str | None]:
    return {"plugin": plugin.name, "stage": plugin.stage, "cause": plugin.cause, "fix": plugin.fix}


def _problem(plugin: PluginReport) -> str:
    return f"plugin '{plugin.name}' failed at {plugin.stage}: {plugin.cause} (fix: {plugin.fix})"


def _is_required(plugin: PluginReport, settings: Settings) -> bool:
    return _found(plugin).is_called(map(bare_name, settings.plugins.require))


def _unmet(requirement: str, report: HostReport) -> str | None:
    """Why a required plugin is missing; None if it is there, or was reported as failed."""
    named = [one for one in report if _found(one).is_called([bare_name(requirement)])]
    if not named:
        return f"plugin '{requirement}' is required (plugins.require) and not installed"
    if all(one.state == "disabled" for one in named):
        return f"plugin '{requirement}' is required (plugins.require) and {named[0].cause}"
    wanted = requirement.removeprefix(bare_name(requirement)).strip()
    if wanted and not _fits(named[0].version, wanted):
        return f"plugin '{requirement}' is required (plugins.require), but version {named[0].version or 'none'} is installed"
    return None


def _fits(version: str, wanted: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(wanted, prereleases=True).contains(version)
    except InvalidSpecifier:
        raise ConfigurationError(f"plugins.require: '{wanted}' is not a version specifier such as '>=1.0'") from None


def _found(plugin: PluginReport) -> Found:
    return Found(plugin.name, plugin.distribution)
