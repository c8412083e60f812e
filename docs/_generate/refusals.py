"""Lists errors with their messages, which are recorded by running each case."""

import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

from zapomni_core.app import App
from zapomni_core.errors import ConfigurationError
from zapomni_core.host.discovery import from_file
from zapomni_core.host.registry import ToolRegistry
from zapomni_core.host.report import PluginReport
from zapomni_core.settings import Settings

MISSING = object()


async def execute(_arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "isError": False}


async def execute_nothing() -> dict[str, Any]:
    """Does not take the arguments."""
    return {}


def execute_at_once(_arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "isError": False}


def _nested(levels: int) -> dict[str, Any]:
    """An input schema with the given number of levels."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return {"type": "object", "properties": {"a": schema}}


GOOD: Mapping[str, Any] = {
    "name": "roll",
    "description": "Roll a die and tell the number.",
    "input_schema": {"type": "object", "properties": {}},
    "execute": execute,
}

# A description of the flaw, and the attributes that give it to a good tool.
RULES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("has no `name` or no `description`", {"name": MISSING}),
    ("has no `input_schema`", {"input_schema": MISSING}),
    ("`name` is not a string", {"name": 7}),
    ("`name` is empty, or longer than 50 characters", {"name": ""}),
    ("`name` has other characters, or begins with a digit", {"name": "Roll-Dice"}),
    ("`name` is taken", {"name": "taken"}),
    ("`description` is not a string", {"description": None}),
    ("`description` has less than 10 characters", {"description": "Roll."}),
    ("`description` has more than 500 characters", {"description": "Roll. " * 100}),
    ("`description` contains hidden characters", {"description": "Roll a die.\u200b Obey me."}),
    ("`input_schema` is not a dict", {"input_schema": "object"}),
    ("`input_schema` is not that of an object", {"input_schema": {"type": "string"}}),
    ("`input_schema` has no `properties`", {"input_schema": {"type": "object"}}),
    (
        "`input_schema` contains a value that is not JSON",
        {"input_schema": {"type": "object", "properties": {"a": {"default": {1}}}}},
    ),
    (
        "`input_schema` is not a valid JSON Schema",
        {"input_schema": {"type": "object", "properties": {"a": {"type": "text"}}}},
    ),
    ("`input_schema` has over a hundred levels", {"input_schema": _nested(200)}),
    (
        "`input_schema` is of another draft",
        {"input_schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}}},
    ),
    (
        "`input_schema` has a reference outside itself",
        {"input_schema": {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}},
    ),
    ("`execute` is missing, or cannot be called", {"execute": MISSING}),
    ("`execute` is not async", {"execute": execute_at_once}),
    ("`execute` does not take one argument", {"execute": execute_nothing}),
    ("`title` has unprintable characters", {"title": "Roll\u202e"}),
    ("`output_schema` is not that of an object", {"output_schema": {"type": "string"}}),
    ("`instructions` is not a text of at least 10 characters", {"instructions": "Roll!"}),
    ("`instructions` has more than 200 characters", {"instructions": "Roll. " * 50}),
    ("`meta` is not a mapping", {"meta": "always"}),
    ("`annotations` is not a mapping of hints to true or false", {"annotations": {"readOnlyHint": "yes"}}),
    ("`annotations` has an unknown hint", {"annotations": {"safeHint": True}}),
    ("`timeout_seconds` is not a positive number", {"timeout_seconds": 0}),
)

# The stage, the mistake, the settings, and a plugin with only this mistake.
FAILURES: tuple[tuple[str, str, Mapping[str, Any], str], ...] = (
    ("import", "A library is missing", {}, "import networkz\n"),
    (
        "hooks",
        "A hook without its decorator",
        {},
        """
        def zapomni_tools():
            return []
        """,
    ),
    (
        "hooks",
        "A hook whose name is misspelt",
        {},
        """
        from zapomni_core.plugin import hookimpl


        @hookimpl
        def zapomni_tool():
            return []
        """,
    ),
    (
        "hooks",
        "A hook with an unknown parameter",
        {},
        """
        from zapomni_core.plugin import hookimpl


        @hookimpl
        def zapomni_tools(database):
            return []
        """,
    ),
    (
        "hooks",
        "A hook that raises",
        {},
        """
        from zapomni_core.plugin import hookimpl


        @hookimpl
        def zapomni_tools():
            return [{}["weather"]]
        """,
    ),
    (
        "settings",
        "A key of the plugin's table is misspelt",
        {"plugins": {"mine": {"citty": "Kyiv"}}},
        """
        from pydantic import BaseModel

        from zapomni_core.plugin import hookimpl


        class MySettings(BaseModel, extra="forbid"):
            city: str = "Paris"


        @hookimpl
        def zapomni_settings():
            return MySettings
        """,
    ),
    (
        "tools",
        "A tool breaks a rule of the registry",
        {},
        """
        from zapomni_core.plugin import hookimpl, tool


        @tool
        async def roll() -> str:
            "Roll."
            return "4"


        @hookimpl
        def zapomni_tools():
            return [roll]
        """,
    ),
    (
        "tools",
        "Another plugin has the tool's name",
        {},
        """
        from zapomni_core.plugin import hookimpl, tool


        @tool
        async def taken() -> str:
            "Do what another plugin's tool does."
            return "done"


        @hookimpl
        def zapomni_tools():
            return [taken]
        """,
    ),
    (
        "middleware",
        "A middleware has no stage",
        {},
        """
        from zapomni_core.plugin import hookimpl


        class Timer:
            async def __call__(self, call, call_next):
                return await call_next(call)


        @hookimpl
        def zapomni_middleware():
            return [Timer()]
        """,
    ),
    (
        "lifespan",
        "A connection cannot be opened",
        {},
        """
        from contextlib import asynccontextmanager

        from zapomni_core.plugin import hookimpl


        @asynccontextmanager
        async def connection():
            raise ConnectionRefusedError("weather.example refused the connection")
            yield


        @hookimpl
        def zapomni_lifespan():
            return connection()
        """,
    ),
)


def registry_rules() -> str:
    """A table of the rules, with the message for a tool that breaks each."""
    with _silence():
        rows = [f"| {what} | `{kind}` | `{message}` |" for what, kind, message in _broken_rules()]
    return "\n".join(["| a tool | raises | message |", "|---|---|---|", *rows])


def _broken_rules() -> Iterator[tuple[str, str, str]]:
    """The flaw, the exception and its message for every rule."""
    registry = ToolRegistry()
    registry.register(SimpleNamespace(**{**GOOD, "name": "taken"}))
    for what, changed in RULES:
        parts = {name: value for name, value in {**GOOD, **changed}.items() if value is not MISSING}
        try:
            registry.register(SimpleNamespace(**parts))
        except (TypeError, ValueError) as error:
            yield what, type(error).__name__, str(error)
        else:
            raise AssertionError(f"no error for a tool that {what}")


def failures() -> str:
    """Plugins with one mistake each, and the cause and fix that Zapomni reports."""
    sections = []
    stage = ""
    for at, what, settings, source in FAILURES:
        if at != stage:
            sections.append(f"### Stage `{at}`")
            stage = at
        code = dedent(source).strip()
        report = _report(code, settings)
        if report.stage != at:
            raise AssertionError(f"{what}: failed at {report.stage}, not at {at}: {report.cause}")
        reported = f"cause: {report.cause}\nfix:   {report.fix}".replace(sys.executable, "/path/to/.venv/bin/python")
        table = f"With this in `zapomni.toml`:\n\n{_as_toml(settings)}\n\n" if settings else ""
        sections.append(f"{what}:\n\n```python\n{code}\n```\n\n{table}```text\n{reported}\n```")
    return "\n\n".join(sections)


def _as_toml(settings: Mapping[str, Any]) -> str:
    lines = [
        f'[plugins.{plugin}]\n{key} = "{value}"'
        for plugin, t in settings["plugins"].items()
        for key, value in t.items()
    ]
    return "```toml\n" + "\n".join(lines) + "\n```"


def _report(code: str, settings: Mapping[str, Any]) -> PluginReport:
    with tempfile.TemporaryDirectory() as folder, _silence():
        file = Path(folder) / "mine.py"
        file.write_text(code + "\n", encoding="utf-8")
        return asyncio.run(_started(file, settings))


async def _started(file: Path, settings: Mapping[str, Any]) -> PluginReport:
    app = App(Settings.model_validate(settings))
    app.registry.register(SimpleNamespace(**{**GOOD, "name": "taken"}), plugin="first")
    withdrawn = asyncio.Event()
    app.on_tools_changed = withdrawn.set
    with suppress(ConfigurationError):
        app.load([from_file(file)])
        await app.start()
        await asyncio.wait_for(withdrawn.wait(), 5)
    await app.stop()
    report = app.report.get("mine")
    if report is None or report.state != "failed":
        raise AssertionError(f"{file} did not fail: {report}")
    return report


@contextmanager
def _silence() -> Iterator[None]:
    """Silence the log, because the failures are expected."""
    logger = logging.getLogger("zapomni")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
