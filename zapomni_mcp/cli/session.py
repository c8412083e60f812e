"""What the commands on memories share: an engine to work on, two options, and how they fail."""

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from zapomni_mcp.cli.composition import compose, log_if_asked, read_config
from zapomni_mcp.cli.failing import told_in_a_sentence
from zapomni_mcp.cli.options import Options
from zapomni_mcp.cli.output import Output
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.process import exit_soon

if TYPE_CHECKING:
    from zapomni_core.app import App
    from zapomni_core.engine import MemoryEngine

Work = Callable[["MemoryEngine"], Awaitable[int]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Session:
    """One command on memories: where it prints, and how it gets an engine."""

    out: Output
    options: Options
    workspace: str | None
    as_json: bool

    def run(self, work: Work) -> NoReturn:
        """Let the work have the engine, and exit with the code that it returns."""

        async def last(app: "App") -> int:
            code = 1
            try:
                code = await self._work(app, work)
            finally:
                exit_soon(code)  # here already, because asyncio.run waits for the threads of its executor
            return code

        sys.exit(self._in_app(last))

    def look(self, work: "Callable[[MemoryEngine], Awaitable[T]]") -> T:
        """Return what the work finds, for a question to the user: Ctrl-C does not interrupt one within an event loop."""
        return self._in_app(lambda app: self._work(app, work))

    def _in_app(self, work: "Callable[[App], Coroutine[Any, Any, T]]") -> T:
        config = read_config(self.options)
        log_if_asked(config)
        app = compose(self.options, config.settings)
        with told_in_a_sentence(app):
            return asyncio.run(work(app))

    async def _work(self, app: "App", work: "Callable[[MemoryEngine], Awaitable[T]]") -> T:
        try:
            return await work(self._engine(app))
        finally:
            await app.engine.close()

    def _engine(self, app: "App") -> "MemoryEngine":
        engine: MemoryEngine = app.engine
        return engine if self.workspace is None else in_workspace(engine, self.workspace)

    def json(self, record: Any) -> None:
        """Print a record of the engine's as a JSON document."""
        from pydantic_core import to_jsonable_python

        self.out.json(to_jsonable_python(record))


def with_session(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--workspace` and `--json`, and a session as its first argument."""

    @click.option("--workspace", metavar="NAME", help="Work in this workspace instead of the one in the settings.")
    @click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
    @click.pass_obj
    @functools.wraps(command)
    def wrapped(options: Options, /, workspace: str | None, as_json: bool, **arguments: Any) -> None:
        command(Session(Output(), options, workspace, as_json), **arguments)

    return wrapped


def in_workspace(engine: "MemoryEngine", name: str) -> "MemoryEngine":
    """The engine bound to a workspace that the user named."""
    from pydantic import ValidationError

    try:
        return engine.in_workspace(name)
    except ValidationError as error:
        rule = error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"]
        raise Refusal(f"--workspace: {rule.removeprefix('Value error, ')}") from None
