"""The checks of `zapomni doctor` and `zapomni plugins check`. Imported only when they run, because of its imports."""

import asyncio
import inspect
import os
import platform
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import InvalidRequirement, Requirement

from zapomni_core.app import App
from zapomni_core.dispatch.middleware import is_cancellation
from zapomni_core.embedding import Embedder, Profile
from zapomni_core.errors import ConfigurationError
from zapomni_core.host.discovery import Found
from zapomni_core.host.registry import CheckedTool, ToolRegistry, lint, tokens
from zapomni_core.host.report import HostReport, PluginReport
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.reindex import count_outdated, count_pending
from zapomni_core.models import EngineStats
from zapomni_core.settings import normalise
from zapomni_core.text.plural import counted
from zapomni_db.records import VectorWeight
from zapomni_mcp.cli.context import configure_logging, find_plugins, read_config, try_load_app
from zapomni_mcp.cli.default_store import memories_left
from zapomni_mcp.cli.errors import suggestion
from zapomni_mcp.cli.options import Options
from zapomni_mcp.config import Config, settings_file
from zapomni_mcp.config.show import MASK, dump_with_plugins
from zapomni_mcp.formatting import format_embedder

CHECK_SECONDS = 5.0
SENTENCE = "Ada met Grace in London."
PACKAGES = ("zapomni", "mcp", "pluggy")
CLIENT_LIMITS = (40, 50, 80, 128)
"""The most tools that well-known clients accept."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; `fix` is the next step, None if there is nothing to do."""

    level: Literal["ok", "warn", "fail"]
    what: str
    detail: str
    fix: str | None = None


async def run_checks(options: Options) -> tuple[list[Finding], list[PluginReport]]:
    """Every finding, and the reports of the plugins. Plugins are loaded only if the settings are valid, because the settings may disable some."""
    found = find_plugins(options)
    findings = list(_check_environment(found))
    try:
        config = read_config(options)
    except ConfigurationError as error:
        return findings + list(_invalid_settings(error)), []
    configure_logging(config)
    app, problem = try_load_app(options, config.settings, found)
    return findings + await _check_app(options, config, found, app, problem), list(app.report)


async def _check_app(
    options: Options, config: Config, found: list[Found], app: App, problem: str | None
) -> list[Finding]:
    running = await _check_running(app, has_store=problem is None and not options.no_plugins)
    return [
        *_check_settings_file(config, settings_file(options.config)),
        *_check_shared_variables(config),
        *await _check_memories_left(config),
        *check_plugins(app.report),
        *_check_unused_settings(app, options, config, found),
        *check_tools(app.registry),
        check_tool_count(app.registry),
        *_check_extractor_settings(app.engine),
        *running,
        *_check_start(problem, app.report),
    ]


def _check_start(problem: str | None, report: HostReport) -> Iterator[Finding]:
    """Why the server would not start, apart from the failed plugins, which have findings of their own."""
    if problem:
        reported = tuple(f"plugin '{one.name}' failed" for one in report.in_state("failed"))
        others = [line for line in problem.splitlines() if not line.startswith(reported)]
        detail = "; ".join(others) or "a plugin failed that was chosen by plugins.require, --plugin or --strict"
        yield Finding("fail", "start", f"the server would not start: {detail}", "fix it, or do not choose it")


# The environment.


def _check_environment(found: list[Found]) -> Iterator[Finding]:
    yield Finding("ok", "python", f"{platform.python_version()} at {sys.executable}")
    yield Finding("ok", "packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES))
    for distribution in sorted({"zapomni", *(one.distribution for one in found if one.distribution)}):
        yield from check_requirements(distribution)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def check_requirements(distribution: str) -> Iterator[Finding]:
    """A finding for each requirement of a distribution that is missing or installed in another version."""
    for text in metadata.requires(distribution) or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            fix = f"report it to the authors of {distribution}"
            yield Finding("warn", f"requirement {text}", f"{distribution} declares an invalid requirement", fix)
            continue
        if problem := _requirement_problem(requirement):
            requirement.marker = None
            fix = f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(str(requirement))}"
            yield Finding("fail", f"requirement {requirement}", f"{distribution} requires it, but {problem}", fix)


def _requirement_problem(requirement: Requirement) -> str | None:
    if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
        return None
    try:
        installed = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "it is not installed"
    matches = requirement.specifier.contains(installed, prereleases=True)
    return None if matches else f"{installed} is installed"


# The settings.


def _invalid_settings(error: ConfigurationError) -> Iterator[Finding]:
    for line in str(error).splitlines():
        yield Finding("fail", "settings", line, "correct it where it is set, then run: zapomni config")
    yield Finding("warn", "plugins", "not loaded, because the settings may disable some", "correct the settings first")


def _check_settings_file(config: Config, default: Path) -> Iterator[Finding]:
    """Which file is read, and whether other users can read the secrets in it."""
    if config.file is None:
        yield Finding("ok", "settings", f"{default} does not exist; defaults and the environment are in effect")
        return
    yield Finding("ok", "settings", str(config.file))
    if _others_can_read(config.file) and _has_secret(config):
        fix = f"chmod 600 {shlex.quote(str(config.file))}"
        yield Finding("warn", "settings", f"{config.file} contains a secret, and other users can read it", fix)


def _check_shared_variables(config: Config) -> Iterator[Finding]:
    """Variables that other programs use too, and that have no effect here."""
    for name, reason in config.unused.items():
        yield Finding("warn", f"variable {name}", f"has no effect: {reason}", "nothing, if it is meant for others")


async def _check_memories_left(config: Config) -> list[Finding]:
    left = await memories_left(config)
    return [Finding("warn", "default store", *left)] if left else []


def _others_can_read(file: Path) -> bool:
    return os.name != "nt" and bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def _has_secret(config: Config) -> bool:
    return any(MASK in value and origin == str(config.file) for _, value, origin in dump_with_plugins(config))


def _check_unused_settings(app: App, options: Options, config: Config, found: list[Found]) -> Iterator[Finding]:
    if not options.no_plugins:
        yield from _unused_plugin_settings(config, app.report)
        yield from _unused_tool_settings(config, _offered_tools(app, options, config, found))


def _unused_plugin_settings(config: Config, report: HostReport) -> Iterator[Finding]:
    """Settings without effect, because the plugin that they name is missing or disabled."""
    names = [normalise(one.name) for one in report]
    enabled = {normalise(one.name) for one in report if one.state != "disabled"}
    for name in config.settings.plugins.tables:
        what = f"settings plugins.{name}"
        if name not in names:
            fix = f"remove the table, or install the plugin{suggestion(name, names)}"
            yield Finding("warn", what, f"unknown plugin '{name}'{_origins(config, name)}", fix)
        elif name not in enabled:
            fix = f"remove the table, or run: zapomni plugins enable {name}"
            yield Finding("warn", what, f"plugin '{name}' is disabled{_origins(config, name)}", fix)
    for key in ("enable", "disable", "allow"):
        yield from _unused_switches(key, config, report)


def _origins(config: Config, name: str) -> str:
    origins = {origin for key, origin in config.origins.items() if key.startswith(f"plugins.{name}.")}
    return f" (set in {', '.join(sorted(origins))})" if origins else ""


def _unused_switches(key: str, config: Config, report: HostReport) -> Iterator[Finding]:
    for name in getattr(config.settings.plugins, key):
        if not any(Found(one.name, one.distribution).is_called([name]) for one in report):
            fix = f"remove it from plugins.{key}{suggestion(name, (one.name for one in report))}"
            yield Finding("warn", f"settings plugins.{key}", f"unknown plugin '{name}'", fix)


def _unused_tool_settings(config: Config, offered: Iterable[CheckedTool]) -> Iterator[Finding]:
    """Entries of [tools] and [rename] that match no tool."""
    tools = list(offered)
    names = {tool.name for tool in tools}
    original_names = {f"{normalise(tool.plugin)}.{tool.tool.name}" for tool in tools}
    for table, entries, known in (
        ("tools", config.settings.tools, names),
        ("rename", config.settings.rename, original_names),
    ):
        for entry in entries:
            if entry not in known:
                fix = f"remove or correct it{suggestion(entry, known)}"
                yield Finding("warn", f"settings {table}.{entry}", f"no plugin offers '{entry}'", fix)


def _offered_tools(app: App, options: Options, config: Config, found: list[Found]) -> list[CheckedTool]:
    """Every tool of the plugins, even those that [tools] disables: to see them, plugins are loaded without [tools]."""
    settings = config.settings
    if all(name in app.registry for name in settings.tools):
        return list(app.registry)
    unfiltered, _ = try_load_app(options, settings.model_copy(update={"tools": {}}), found)
    return [*app.registry, *unfiltered.registry]


# Plugins and tools.


def check_plugins(report: HostReport) -> Iterator[Finding]:
    """The state and the warnings of each plugin."""
    for one in report:
        yield _plugin_state(one)
        for warning in one.warnings:
            detail, _, advice = warning.partition(": ")
            yield Finding("warn", f"plugin {one.name}", detail, advice or "change [tools], or install that plugin")


def _plugin_state(one: PluginReport) -> Finding:
    what = f"plugin {one.name}"
    if one.state == "failed":
        return Finding("fail", what, f"failed at {one.stage}: {one.cause}", one.fix)
    if one.state == "disabled":
        return Finding("ok", what, one.cause or "disabled")
    count = f"{len(one.tools)} tool{'s' * (len(one.tools) != 1)}"
    took = f"import {one.import_ms or 0:.0f} ms"
    return Finding("ok", what, ", ".join(filter(None, [one.version, count, took])))


def check_tools(registry: ToolRegistry) -> Iterator[Finding]:
    """Advice on each tool."""
    for tool in registry:
        if lines := [line.removeprefix(f"tool '{tool.name}': ") for line in lint(tool)]:
            fix = f"advice for the author of plugin '{tool.plugin}'; the tool works as it is"
            yield Finding("warn", f"tool {tool.name}", "; ".join(lines), fix)


def check_tool_count(registry: ToolRegistry) -> Finding:
    """The number of tools, compared with the limits of clients."""
    total = sum(map(tokens, registry))
    detail = f"{counted(len(registry), 'tool')}, ~{counted(total, 'token')} in every conversation"
    if len(registry) == 0:
        return Finding("warn", "tools", "no tools are offered", "install or enable a plugin, or fix those that failed")
    exceeded = [str(limit) for limit in CLIENT_LIMITS if len(registry) > limit]
    if exceeded:
        fix = "disable some: [tools.NAME] enabled = false"
        return Finding("warn", "tools", f"{detail}; some clients accept at most {', '.join(exceeded)}", fix)
    return Finding("ok", "tools", detail)


# The running app: store, embedder, extractor and the checks of tools.


async def _check_running(app: App, *, has_store: bool) -> list[Finding]:
    """Start the app, check the store, the extractor and the tools that have a check, and stop it.

    A lifespan that fails is in the app's report.
    """
    await app.start()
    try:
        await app.ready()
        tools = [tool for tool in app.registry if hasattr(tool.tool, "check")]
        return [
            *(await _check_store(app.engine) if has_store else ()),
            *await _check_extractor(app.engine),
            *await asyncio.gather(*map(_check_tool, tools)),
        ]
    finally:
        await app.stop()


async def _check_store(engine: MemoryEngine) -> list[Finding]:
    """Whether the store works, and whether its data is intact."""
    try:
        if problems := await engine.health():
            return [Finding("fail", "store", one, "fix that, then run: zapomni doctor") for one in problems]
        if engine.has_file_store and (problems := await engine.check()):
            fix = "restore a backup: zapomni restore-backup FILE"
            return [Finding("fail", "store", one, fix) for one in problems]
        stats = await engine.get_stats()
        without_vector = await count_pending(engine.memories, engine.workspace)
        outdated = await count_outdated(engine.memories, engine.workspace)
    except ConfigurationError as error:
        return [Finding("fail", "store", str(error), "choose another store, or enable the plugin that offers it")]
    except Exception as error:  # noqa: BLE001 (the store may be a plugin's)
        return [Finding("fail", "store", f"{type(error).__name__}: {error}", "ask the author of the store's plugin")]
    size = f"{stats.database_size_mb:.1f} MB"
    detail = "its data is intact" if engine.has_file_store else describe_versions(stats)
    found = Finding("ok", "store", f"{stats.store} at {stats.location}, {size}; {detail}")
    warnings = [Finding("warn", "store", one, "change the settings of its server") for one in stats.store_warnings]
    chunks = [*_missing_vectors(without_vector), *_outdated_terms(outdated)]
    return [found, *warnings, *_deleted_memories(stats), *chunks, *await _check_embedder(engine)]


def describe_versions(stats: EngineStats) -> str:
    """The versions of what a store runs on."""
    return ", ".join(f"{name.removesuffix('_version')} {version}" for name, version in stats.store_details.items())


def _deleted_memories(stats: EngineStats) -> Iterator[Finding]:
    if stats.deleted_memories:
        detail = f"{stats.deleted_memories:,} in workspace '{stats.graph_name}'; zapomni purge removes them"
        yield Finding("ok", "deleted memories", detail)


def _missing_vectors(missing: int) -> Iterator[Finding]:
    if missing:
        chunks = f"{missing:,} chunk{'s have' if missing != 1 else ' has'}"
        fix = "a running server computes them; to do it now, run: zapomni reindex"
        yield Finding("warn", "vectors", f"{chunks} no vector yet: found by words only, not by meaning", fix)


def _outdated_terms(outdated: int) -> Iterator[Finding]:
    if outdated:
        chunks = f"{outdated:,} chunk{'s were' if outdated != 1 else ' was'}"
        detail = f"{chunks} analysed by another version of Zapomni: words may not be found"
        yield Finding("warn", "words", detail, "analyse them again: zapomni reindex")


async def _check_embedder(engine: MemoryEngine) -> list[Finding]:
    """Why new memories cannot be found by meaning."""
    try:
        problem = await engine.embedder_problem()
    except Exception as error:  # noqa: BLE001 (the embedder may be a plugin's)
        fix = "ask the author of the embedder's plugin"
        return [Finding("fail", "embedder", f"{type(error).__name__}: {error}", fix)]
    if problem is None:
        return await _serving_embedder(engine)
    detail, _, fix = problem.partition("; ")
    return [Finding("fail", "embedder", detail, fix or "correct the settings; zapomni config shows them")]


async def _serving_embedder(engine: MemoryEngine) -> list[Finding]:
    """Which embedder made the vectors of the workspace, and their weight."""
    store, workspace = engine.memories, engine.workspace
    identity = await store.embedder(workspace)
    if identity is None:
        return []
    profile = await engine.with_embedder(_profile_of)
    weight = VectorWeight(profile.vector_weight) if profile.vector_weight is not None else None
    if weight is None and store.vectors is not None:
        weight = await store.vectors.weight(workspace, identity)
    return [Finding("ok", "embedder", f"{format_embedder(identity)}, {_weight(weight)}")]


async def _profile_of(embedder: Embedder) -> Profile:
    return embedder.profile


def _weight(weight: VectorWeight | None) -> str:
    if weight is None:
        return "whose weight the first search measures"
    if not weight.weight:
        return "whose vectors are not used: in a test they did not tell answers from other texts"
    scripts = "" if weight.cyrillic else ", but not for questions in Cyrillic, which it cannot read"
    return f"vectors with weight {weight.weight:.2f}{scripts}"


def _check_extractor_settings(engine: MemoryEngine) -> Iterator[Finding]:
    """Which extractor is configured, if any, and whether it can be used."""
    name = engine.settings.extractor
    if name is None:
        return
    if problem := engine.extractor_problem:
        fix = "set what is missing, or unset extractor: memories are stored and found without one"
        yield Finding("fail", "extractor", f"{name}: {problem}", fix)
    elif engine.asks_llm and (llm := engine.llm_state):
        yield _language_model(name, llm)
    else:
        yield Finding("ok", "extractor", name)


def _language_model(name: str, llm: Mapping[str, Any]) -> Finding:
    model = f"{name}: {llm.get('model')} by {llm.get('provider')}"
    if problem := llm.get("problem"):
        return Finding("fail", "extractor", f"{model}: {problem}", "set the key, or choose another provider")
    return Finding("ok", "extractor", f"{model}, called when a memory is added")


async def _check_extractor(engine: MemoryEngine) -> list[Finding]:
    """Whether the extractor can process a sentence; one that may call a language model is not tried."""
    name = engine.settings.extractor
    if name is None or engine.asks_llm or engine.extractor_problem:
        return []
    fix = "choose another extractor in the settings, or ask the author of its plugin"
    _, failure = await _run_plugin_code(f"check of extractor {name}", lambda: engine.extract(SENTENCE), fix)
    return [failure] if failure else []


async def _check_tool(tool: CheckedTool) -> Finding:
    what = f"check of tool {tool.name}"
    fix = f"ask the author of plugin '{tool.plugin}', or disable it: zapomni plugins disable {tool.plugin}"
    answer, failure = await _run_plugin_code(what, tool.tool.check, fix)
    if failure:
        return failure
    if answer is False:
        return Finding("fail", what, "failed", fix)
    return Finding("ok", what, answer if isinstance(answer, str) else "passed")


async def _run_plugin_code(what: str, function: Callable[[], Any], fix: str) -> tuple[Any, Finding | None]:
    """The result of a plugin's function, or a finding if it fails or takes too long."""
    timer = asyncio.timeout(CHECK_SECONDS)
    try:
        async with timer:
            result = function()
            return await result if inspect.isawaitable(result) else result, None
    except BaseException as error:
        if is_cancellation(error):
            raise
        late = f"no answer in {CHECK_SECONDS:g} s"
        return None, Finding("fail", what, late if timer.expired() else f"{type(error).__name__}: {error}", fix)
