"""The context of a command: settings, app and engine as its options ask for them. Heavy imports are lazy."""

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from zapomni_core.errors import ConfigurationError
from zapomni_mcp.cli.errors import InvalidRequest, readable_errors
from zapomni_mcp.cli.options import Options
from zapomni_mcp.cli.output import Output
from zapomni_mcp.process import exit_soon

if TYPE_CHECKING:
    from zapomni_core.app import App
    from zapomni_core.host.discovery import Found
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.settings import Settings
    from zapomni_mcp.config import Config

T = TypeVar("T")


def read_config(options: Options) -> "Config":
    """The settings in effect."""
    from zapomni_mcp.config import load

    return load(options.config, env_file=options.env_file)


def configure_logging(config: "Config") -> None:
    """Log only if the user set a level: commands print their own errors."""
    from zapomni_mcp.logging import configure

    configure("CRITICAL" if config.origins["log_level"] == "default" else config.settings.log_level)


def find_plugins(options: Options) -> "list[Found]":
    """The installed plugins, from their metadata alone, and the files given with --plugin."""
    from zapomni_core.host.discovery import discover, from_file

    return [*([] if options.no_plugins else discover()), *map(from_file, options.plugin)]


def load_app(options: Options, settings: "Settings", meanwhile: Callable[[], object] = lambda: None) -> "App":
    """The app with its plugins loaded; a ConfigurationError if something that the user chose failed."""
    app, problem = try_load_app(options, settings, find_plugins(options), meanwhile)
    if problem and options.no_plugins:
        problem += "\n--no-plugins is given: no installed plugin is loaded"
    if problem:
        raise ConfigurationError(problem)
    return app


def try_load_app(
    options: Options,
    settings: "Settings",
    found: "Sequence[Found]",
    meanwhile: Callable[[], object] = lambda: None,
) -> "tuple[App, str | None]":
    """The app with every plugin that could be loaded, and the reason why the server would not start with it."""
    from zapomni_core.app import build_app

    program = click.get_current_context().command_path
    app = build_app(settings, plugins=found, strict=options.strict, program=program, insist=False, meanwhile=meanwhile)
    return app, app.problem


def run_lifespans(app: "App", report: Callable[[], int]) -> int:
    """Open and close the plugins' lifespans, which completes `app.report`; then call `report` and return its exit code."""
    return asyncio.run(_run_lifespans(app, report))


async def _run_lifespans(app: "App", report: Callable[[], int]) -> int:
    await app.start(bundled=False)
    await app.ready()
    await app.stop()
    code = report()
    exit_soon(code)  # before asyncio.run waits for threads that a plugin left running
    return code


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The context of a command on memories: its output, its options and an engine."""

    out: Output
    options: Options
    workspace: str | None
    as_json: bool

    def run(self, work: "Callable[[MemoryEngine], Awaitable[int]]") -> NoReturn:
        """Call `work` with the engine, and exit with the code that it returns."""

        async def run_and_exit(app: "App") -> int:
            code = 1
            try:
                code = await self._with_engine(app, work)
            finally:
                exit_soon(code)  # before asyncio.run waits for the threads of its executor
            return code

        sys.exit(self._with_app(run_and_exit))

    def query(self, work: "Callable[[MemoryEngine], Awaitable[T]]") -> T:
        """Return what `work` finds, before a prompt: Ctrl-C does not interrupt a prompt inside an event loop."""
        return self._with_app(lambda app: self._with_engine(app, work))

    def _with_app(self, work: "Callable[[App], Coroutine[Any, Any, T]]") -> T:
        config = read_config(self.options)
        configure_logging(config)
        app = load_app(self.options, config.settings)
        with readable_errors(app):
            return asyncio.run(work(app))

    async def _with_engine(self, app: "App", work: "Callable[[MemoryEngine], Awaitable[T]]") -> T:
        try:
            engine = app.engine
            return await work(engine if self.workspace is None else _in_workspace(engine, self.workspace))
        finally:
            await app.engine.close()

    def json(self, record: Any) -> None:
        """Print a record of the engine as a JSON document."""
        from pydantic_core import to_jsonable_python

        self.out.json(to_jsonable_python(record))


def with_context(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--workspace` and `--json`, and a CommandContext as its first argument."""

    @click.option("--workspace", metavar="NAME", help="Use this workspace instead of the one in the settings.")
    @click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
    @click.pass_obj
    @functools.wraps(command)
    def wrapped(options: Options, /, workspace: str | None, as_json: bool, **arguments: Any) -> None:
        command(CommandContext(Output(), options, workspace, as_json), **arguments)

    return wrapped


def _in_workspace(engine: "MemoryEngine", name: str) -> "MemoryEngine":
    from pydantic import ValidationError

    try:
        return engine.in_workspace(name)
    except ValidationError as error:
        rule = error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"]
        raise InvalidRequest(f"--workspace: {rule.removeprefix('Value error, ')}") from None
