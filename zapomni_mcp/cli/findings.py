"""What there is to find in the settings, the plugins and the tools, each with what to do about it. Prints nothing."""

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zapomni_core.engine import MemoryEngine
from zapomni_core.host.discovery import Found
from zapomni_core.host.registry import CheckedTool, ToolRegistry, lint, tokens
from zapomni_core.host.report import HostReport, PluginReport
from zapomni_core.models import EngineStats
from zapomni_core.settings import normalise
from zapomni_mcp.cli.names import hint
from zapomni_mcp.config import Config
from zapomni_mcp.config.showing import MASK, dump_open

CLIENT_CAPS = (40, 50, 80, 128)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found; `fix` is the next step, None where nothing is to be done."""

    level: Literal["ok", "warn", "fail"]
    what: str
    detail: str
    fix: str | None = None


def settings_file(config: Config, default: Path) -> Iterator[Finding]:
    """Which file is read, and whether others can read the secrets in it."""
    if config.file is None:
        yield Finding("ok", "settings", f"{default} is not there; defaults and the environment are in effect")
        return
    yield Finding("ok", "settings", str(config.file))
    if _others_can_read(config.file) and _holds_secret(config):
        fix = f"chmod 600 {shlex.quote(str(config.file))}"
        yield Finding("warn", "settings", f"{config.file} holds a secret, and other users can read it", fix)


def _others_can_read(file: Path) -> bool:
    return os.name != "nt" and bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def _holds_secret(config: Config) -> bool:
    return any(MASK in value and origin == str(config.file) for _, value, origin in dump_open(config))


def plugins(report: HostReport) -> Iterator[Finding]:
    """What became of each plugin."""
    for one in report:
        yield _state(one)
        for warning in one.warnings:
            detail, _, advice = warning.partition(": ")
            yield Finding("warn", f"plugin {one.name}", detail, advice or "change [tools], or bring that plugin")


def _state(one: PluginReport) -> Finding:
    what = f"plugin {one.name}"
    if one.state == "failed":
        return Finding("fail", what, f"failed at {one.stage}: {one.cause}", one.fix)
    if one.state == "disabled":
        return Finding("ok", what, one.cause or "disabled")
    count = f"{len(one.tools)} tool{'s' * (len(one.tools) != 1)}"
    took = f"import {one.import_ms or 0:.0f} ms"
    return Finding("ok", what, ", ".join(filter(None, [one.version, count, took])))


def idle_settings(config: Config, report: HostReport) -> Iterator[Finding]:
    """Settings that nobody reads, because the plugin they name is absent or disabled."""
    names = [normalise(one.name) for one in report]
    awake = {normalise(one.name) for one in report if one.state != "disabled"}
    for name in config.settings.plugins.tables:
        what = f"settings plugins.{name}"
        if name not in names:
            fix = f"remove the table, or install the plugin{hint(name, names)}"
            yield Finding("warn", what, f"there is no plugin '{name}'{_said_by(config, name)}", fix)
        elif name not in awake:
            fix = f"remove the table, or: zapomni plugins enable {name}"
            yield Finding("warn", what, f"plugin '{name}' is disabled{_said_by(config, name)}", fix)
    for key in ("enable", "disable", "allow"):
        yield from _idle_switches(key, config, report)


def _said_by(config: Config, name: str) -> str:
    origins = {origin for key, origin in config.origins.items() if key.startswith(f"plugins.{name}.")}
    return f" (set in {', '.join(sorted(origins))})" if origins else ""


def _idle_switches(key: str, config: Config, report: HostReport) -> Iterator[Finding]:
    for name in getattr(config.settings.plugins, key):
        if not any(Found(one.name, one.distribution).is_called([name]) for one in report):
            fix = f"take it out of plugins.{key}{hint(name, (one.name for one in report))}"
            yield Finding("warn", f"settings plugins.{key}", f"there is no plugin '{name}'", fix)


def idle_tool_settings(config: Config, offered: Iterable[CheckedTool]) -> Iterator[Finding]:
    """Entries of [tools] and [rename] that match no tool."""
    tools = list(offered)
    names = {tool.name for tool in tools}
    origins = {f"{normalise(tool.plugin)}.{tool.tool.name}" for tool in tools}
    for table, entries, known in (
        ("tools", config.settings.tools, names),
        ("rename", config.settings.rename, origins),
    ):
        for entry in entries:
            if entry not in known:
                fix = f"remove or correct it{hint(entry, known)}"
                yield Finding("warn", f"settings {table}.{entry}", f"no plugin offers '{entry}'", fix)


def extractor(engine: MemoryEngine) -> Iterator[Finding]:
    """Who reads memories when they are added, and whether that can be; nothing where nobody does."""
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
    asked = f"{name}: {llm.get('model')} by {llm.get('provider')}"
    if problem := llm.get("problem"):
        return Finding("fail", "extractor", f"{asked}: {problem}", "set the key, or choose another provider")
    return Finding("ok", "extractor", f"{asked}, which is asked when a memory is added")


def deleted(stats: EngineStats) -> Iterator[Finding]:
    """How many deleted memories are kept; nothing where there are none."""
    if stats.deleted_memories:
        kept = f"{stats.deleted_memories:,} in workspace '{stats.graph_name}', kept until: zapomni purge"
        yield Finding("ok", "deleted memories", kept)


def vectors(missing: int) -> Iterator[Finding]:
    """What is found by its words only, because it waits for its vector."""
    if missing:
        chunks = f"{missing:,} chunk{'s have' if missing != 1 else ' has'}"
        fix = "a server that runs makes them; at once: zapomni reindex"
        yield Finding("warn", "vectors", f"{chunks} no vector yet: found by words only, not by meaning", fix)


def terms(outdated: int) -> Iterator[Finding]:
    """What may not be found by its words, because an older version of Zapomni analysed them."""
    if outdated:
        chunks = f"{outdated:,} chunk{'s were' if outdated != 1 else ' was'}"
        detail = f"{chunks} analysed by another version of Zapomni: words may not be found"
        yield Finding("warn", "words", detail, "analyse them again: zapomni reindex")


def size(registry: ToolRegistry) -> Finding:
    """How many tools there are, against what clients take."""
    total = sum(map(tokens, registry))
    detail = f"{len(registry)} tool{'s' * (len(registry) != 1)}, {total} tokens in every conversation"
    if len(registry) == 0:
        return Finding("warn", "tools", "none is offered", "install or enable a plugin, or mend the ones that failed")
    passed = [str(cap) for cap in CLIENT_CAPS if len(registry) > cap]
    if passed:
        fix = "switch some off: [tools.NAME] enabled = false"
        return Finding("warn", "tools", f"{detail}; some clients take no more than {', '.join(passed)}", fix)
    return Finding("ok", "tools", detail)


def advice(registry: ToolRegistry) -> Iterator[Finding]:
    """What each tool could do better."""
    for tool in registry:
        if lines := [line.removeprefix(f"tool '{tool.name}': ") for line in lint(tool)]:
            fix = f"advice for the author of plugin '{tool.plugin}'; the tool works as it is"
            yield Finding("warn", f"tool {tool.name}", "; ".join(lines), fix)
