"""Examines an installation: packages, settings, plugins, tools, the store, and whether all of it starts. Prints nothing."""

import asyncio
import inspect
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from zapomni_core.app import App
from zapomni_core.dispatch.middleware import is_cancellation
from zapomni_core.engine import MemoryEngine
from zapomni_core.errors import ConfigurationError
from zapomni_core.host.discovery import Found
from zapomni_core.host.registry import CheckedTool
from zapomni_core.host.report import HostReport
from zapomni_core.reindexing import count_outdated, count_pending
from zapomni_mcp.cli import findings
from zapomni_mcp.cli.composition import compose_anyway, find_plugins, log_if_asked, read_config
from zapomni_mcp.cli.findings import Finding
from zapomni_mcp.cli.options import Options
from zapomni_mcp.cli.requirements import unmet_requirements
from zapomni_mcp.config import Config
from zapomni_mcp.config import settings_file as default_file

CHECK_SECONDS = 5.0
SENTENCE = "Ada met Grace in London."
PACKAGES = ("zapomni", "mcp", "pluggy")


async def examine(options: Options) -> list[Finding]:
    """Everything there is to find. Plugins are loaded only where the settings can be read: some may be disabled there."""
    found = find_plugins(options)
    about = list(_environment(found))
    try:
        config = read_config(options)
    except ConfigurationError as error:
        return about + list(_broken_settings(error))
    return about + await _examine_app(options, config, found)


def _environment(found: list[Found]) -> Iterator[Finding]:
    yield Finding("ok", "python", f"{platform.python_version()} at {sys.executable}")
    yield Finding("ok", "packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES))
    for distribution in sorted({"zapomni", *(one.distribution for one in found if one.distribution)}):
        yield from unmet_requirements(distribution)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _broken_settings(error: ConfigurationError) -> Iterator[Finding]:
    for line in str(error).splitlines():
        yield Finding("fail", "settings", line, "correct it where it is set; zapomni config shows the outcome")
    yield Finding("warn", "plugins", "not loaded, because the settings may disable some", "correct the settings first")


async def _examine_app(options: Options, config: Config, found: list[Found]) -> list[Finding]:
    log_if_asked(config)
    app, refusal = compose_anyway(options, config.settings, found)
    health = await _start_and_stop(app, has_store=refusal is None and not options.no_plugins)
    return [
        *findings.settings_file(config, default_file(options.config)),
        *findings.plugins(app.report),
        *_idle_settings(app, options, config, found),
        *findings.advice(app.registry),
        findings.size(app.registry),
        *findings.extractor(app.engine),
        *health,
        *_refused(refusal, app.report),
    ]


def _refused(refusal: str | None, report: HostReport) -> Iterator[Finding]:
    """Why the server would not start, beside the plugins that failed, which are told of already."""
    if refusal:
        told = tuple(f"plugin '{one.name}' failed" for one in report.in_state("failed"))
        others = [line for line in refusal.splitlines() if not line.startswith(told)]
        detail = "; ".join(others) or "something failed that was chosen (plugins.require, --plugin or --strict)"
        yield Finding("fail", "start", f"the server would not start: {detail}", "mend it, or choose it no more")


def _idle_settings(app: App, options: Options, config: Config, found: list[Found]) -> Iterator[Finding]:
    if not options.no_plugins:
        yield from findings.idle_settings(config, app.report)
        yield from findings.idle_tool_settings(config, _offered(app, options, config, found))


def _offered(app: App, options: Options, config: Config, found: list[Found]) -> list[CheckedTool]:
    """Every tool that plugins offer; those that [tools] switches off are seen only where [tools] is left out."""
    settings = config.settings
    if all(name in app.registry for name in settings.tools):
        return list(app.registry)
    everything, _ = compose_anyway(options, settings.model_copy(update={"tools": {}}), found)
    return [*app.registry, *everything.registry]


async def _start_and_stop(app: App, *, has_store: bool) -> list[Finding]:
    """Open what plugins have to open, ask the store and the tools that can tell how they are, and close again.

    A lifespan that fails is in the app's report.
    """
    await app.start()
    try:
        await app.ready()
        checked = [tool for tool in app.registry if hasattr(tool.tool, "check")]
        return [
            *(await _store(app.engine) if has_store else ()),
            *await _extractor(app.engine),
            *await asyncio.gather(*(_health(tool) for tool in checked)),
        ]
    finally:
        await app.stop()


async def _store(engine: MemoryEngine) -> list[Finding]:
    """Whether the store can be used, and whether what it keeps is what was stored."""
    try:
        if problems := await engine.health():
            return [Finding("fail", "store", one, "put that right, then run: zapomni doctor") for one in problems]
        if problems := await engine.check():
            fix = "go back to a backup: zapomni restore-backup FILE"
            return [Finding("fail", "store", one, fix) for one in problems]
        stats = await engine.get_stats()
        without_vector = await count_pending(engine.memories, engine.workspace)
        outdated = await count_outdated(engine.memories, engine.workspace)
    except ConfigurationError as error:
        return [Finding("fail", "store", str(error), "choose another store, or enable the plugin that offers it")]
    except Exception as error:  # noqa: BLE001 (the seam: a store may be a plugin's)
        return [Finding("fail", "store", f"{type(error).__name__}: {error}", "ask the author of the store's plugin")]
    size = f"{stats.database_size_mb:.1f} MB"
    whole = Finding("ok", "store", f"{stats.store} at {stats.location}, {size}; all of it is as it was stored")
    words = [*findings.vectors(without_vector), *findings.terms(outdated)]
    return [whole, *findings.deleted(stats), *words, *await _embedder(engine)]


async def _embedder(engine: MemoryEngine) -> list[Finding]:
    """Why nothing new can be found by its meaning; nothing where it can."""
    try:
        problem = await engine.embedder_problem()
    except Exception as error:  # noqa: BLE001 (the seam: an embedder may be a plugin's)
        fix = "ask the author of the embedder's plugin"
        return [Finding("fail", "embedder", f"{type(error).__name__}: {error}", fix)]
    if problem is None:
        return []
    detail, _, fix = problem.partition("; ")
    return [Finding("fail", "embedder", detail, fix or "correct the settings; zapomni config shows them")]


async def _extractor(engine: MemoryEngine) -> list[Finding]:
    """Whether the extractor that the settings name reads a sentence; one that may ask a language model is not asked."""
    name = engine.settings.extractor
    if name is None or engine.asks_llm or engine.extractor_problem:
        return []
    fix = "choose another extractor in the settings, or ask the author of its plugin"
    _, failure = await _tried(f"check of extractor {name}", lambda: engine.extract(SENTENCE), fix)
    return [failure] if failure else []


async def _health(tool: CheckedTool) -> Finding:
    what = f"check of tool {tool.name}"
    fix = f"ask the author of plugin '{tool.plugin}', or disable it: zapomni plugins disable {tool.plugin}"
    answer, failure = await _tried(what, tool.tool.check, fix)
    if failure:
        return failure
    if answer is False:
        return Finding("fail", what, "it says that it is not well", fix)
    return Finding("ok", what, answer if isinstance(answer, str) else "well")


async def _tried(what: str, function: Callable[[], Any], fix: str) -> tuple[Any, Finding | None]:
    """What a plugin's own code answers, or how it failed to."""
    timer = asyncio.timeout(CHECK_SECONDS)
    try:
        async with timer:
            return await _answer(function()), None
    except BaseException as error:
        if is_cancellation(error):
            raise
        late = f"no answer in {CHECK_SECONDS:g} s"
        return None, Finding("fail", what, late if timer.expired() else f"{type(error).__name__}: {error}", fix)


async def _answer(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer
