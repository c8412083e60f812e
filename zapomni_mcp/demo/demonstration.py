"""The steps of the demonstration. Each step reports whether it succeeded."""

import asyncio
import json
import shlex
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click
from rich.console import Console
from rich.status import Status
from rich.table import Table

from zapomni_mcp.cli.output import CLOSED_PIPE, claim_stdout, write_error
from zapomni_mcp.demo.data import FACTS, LEAK_WEEK, QUESTIONS, TITLE, long_document
from zapomni_mcp.demo.server import Server, call, command

if TYPE_CHECKING:
    from mcp import Client

PENDING = 40
"""Memories that are being added when the server is killed."""

KILL_AFTER = 15
"""Acknowledged memories to wait for before the server is killed."""


async def demonstrate() -> bool:
    """Run every step; return whether all of them succeeded."""
    output = cast("TextIO", _OutputFile(claim_stdout()))
    console = Console(file=output, highlight=False, markup=False, emoji=False)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="zapomni-demo-") as folder:
        succeeded = await _run(console, Server(Path(folder)))
    outcome = "All steps succeeded" if succeeded else "NOT all steps succeeded"
    console.print(f"\n{outcome}, in {time.perf_counter() - started:.0f} s. The temporary store is deleted.")
    if succeeded:
        show_how_to_connect(console)
    return succeeded


class _OutputFile:
    """Standard output for rich's live display: a write error is an ordinary exception, so all that is open is closed."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        with self._click_errors():
            return self._file.write(text)

    def flush(self) -> None:
        with self._click_errors():
            self._file.flush()

    @contextmanager
    def _click_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            failure = write_error(self._file, error)
            raise click.exceptions.Exit(CLOSED_PIPE) if isinstance(failure, SystemExit) else failure from None


async def _run(console: Console, server: Server) -> bool:
    """Run the steps. If the server fails, print the end of its log; if the output cannot be written, stop."""
    from mcp import MCPError

    succeeded, unwritable = False, None
    try:
        with console.status("") as status:
            succeeded = await Demonstration(console, status, server).run()
    except* (click.ClickException, click.exceptions.Exit) as failures:
        unwritable = _first(failures)
    except* (MCPError, OSError, RuntimeError) as failures:
        console.print(f"\nThe server failed: {_first(failures)}", style="bold")
        console.print(server.log_tail(), soft_wrap=True)
        console.print("To find the cause, run: zapomni doctor")
    if unwritable:
        raise unwritable
    return succeeded


def _first(failure: BaseException) -> BaseException:
    return _first(failure.exceptions[0]) if isinstance(failure, BaseExceptionGroup) else failure


class Demonstration:
    """The steps, on one store."""

    def __init__(self, console: Console, status: Status, server: Server) -> None:
        self._console = console
        self._status = status
        self._server = server
        self._stored: dict[str, str] = {}

    async def run(self) -> bool:
        """Run every step; return whether all of them succeeded."""
        self._step("1. Remember: a real server over stdio, a real MCP client, a store of its own")
        async with self._server.client() as client:
            await self._remember(client)
            self._step("2. Ask, in other words and in other languages")
            answered = await self._ask(client)
            self._step("3. Kill the server (kill -9) while it is remembering")
            await self._remember_and_kill(client)
        async with asyncio.TaskGroup() as group:
            checked = group.create_task(self._check_stored())
            plugins = group.create_task(self._server.command_line("plugins"))
        self._step("4. Every tool is a plugin; one line of `zapomni plugins`")
        return all([answered, checked.result(), self._show_plugin(plugins.result().splitlines())])

    async def _remember(self, client: "Client") -> None:
        self._print(f"The server is process {self._server.pid}. The first memory loads the model.")
        started = time.perf_counter()
        for number, fact in enumerate(FACTS, start=1):
            self._status.update(f"fact {number} of {len(FACTS)}")
            await self._add(client, fact)
        self._print(f"{len(FACTS)} facts in English, Russian, German and Spanish: {_seconds(started)}")
        document = long_document()
        started = time.perf_counter()
        self._status.update("a long document")
        chunks = await self._add(client, document, language="markdown", source="garden.md")
        size = len(document.encode()) / 1000
        self._print(f"'{TITLE}', {size:.0f} KB in {chunks} chunks: {_seconds(started)}")

    async def _ask(self, client: "Client") -> bool:
        table = _table("question", "memory that was found", "score", "ms")
        right = 0
        for question, answer in QUESTIONS:
            self._status.update(question)
            started = time.perf_counter()
            hits = (await call(client, "search_memory", query=question, limit=3))["results"]
            milliseconds = (time.perf_counter() - started) * 1000
            text = hits[0]["text"] if hits else "(nothing)"
            right += answer in text
            score = f"{hits[0]['similarity_score']:.2f}" if hits else ""
            table.add_row(question, _around(answer, text), score, f"{milliseconds:.0f}")
        self._console.print(table)
        self._print(
            f"{right} of {len(QUESTIONS)} right. The last is one sentence in week {LEAK_WEEK} of the long document."
        )
        self._print("The score is the confidence of the search: higher where words match too.")
        return right == len(QUESTIONS)

    async def _remember_and_kill(self, client: "Client") -> None:
        """Add many memories at once, and kill the server when some of them are acknowledged."""
        from mcp import MCPError

        before, pid = len(self._stored), self._server.pid

        async def add(text: str) -> None:
            with suppress(MCPError):  # the connection is gone: never acknowledged
                await self._add(client, text)
                if len(self._stored) == before + KILL_AFTER:
                    self._server.kill()

        self._status.update("remembering, until the server is killed")
        async with asyncio.TaskGroup() as group:
            for text in _pending_texts():
                group.create_task(add(text))
        acknowledged = len(self._stored) - before
        self._print(f"{PENDING} sent at once; process {pid} killed: {acknowledged} were acknowledged by then.")

    async def _check_stored(self) -> bool:
        self._status.update("starting the server again")
        async with self._server.client() as client:
            found = 0
            for memory_id, text in self._stored.items():
                with suppress(RuntimeError):
                    memory = await call(client, "get_memory", memory_id=memory_id, max_chars=1_000_000)
                    found += memory["text"] == text.strip()
            total = (await call(client, "get_stats"))["statistics"]["total_memories"]
        self._print(f"Started again as process {self._server.pid}: of {len(self._stored)} acknowledged memories,")
        self._print(f"{found} are there, word for word ({total - found} more were written, not yet acknowledged).")
        return found == len(self._stored)

    def _show_plugin(self, lines: list[str]) -> bool:
        ours = [line for line in lines if line.split()[:1] == ["memory"]]
        for line in [*lines[:1], *ours]:
            self._print(line)
        return len(ours) == 1 and "loaded" in ours[0]

    async def _add(self, client: "Client", text: str, **metadata: str) -> int:
        """Add a memory and note that it was acknowledged; return its number of chunks."""
        added = await call(client, "add_memory", text=text, metadata=metadata)
        self._stored[added["memory_id"]] = text
        return int(added["chunks_created"])

    def _step(self, title: str) -> None:
        self._status.update(title)
        self._console.print(f"\n{title}", style="bold")

    def _print(self, text: str) -> None:
        self._console.print(f"   {text}", soft_wrap=True)


def _pending_texts() -> list[str]:
    return [f"Night shift, entry {number}: pump {number} ran at {40 + number} bar." for number in range(1, PENDING + 1)]


def _table(*headings: str) -> Table:
    table = Table(box=None, expand=True, padding=(0, 0, 0, 2), header_style="dim")
    for heading, ratio in zip(headings[:2], (7, 6), strict=True):
        table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for heading in headings[2:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _around(answer: str, text: str) -> str:
    """The sentence with the answer, on one line; the beginning of the text if it has none."""
    before, found, _ = text.partition(answer)
    start = max(before.rfind(end) for end in (". ", ": ", "\n")) + 1 if found else 0
    return " ".join(text[start:].split())


def _seconds(started: float) -> str:
    return f"{time.perf_counter() - started:.1f} s"


def show_how_to_connect(console: Console) -> None:
    """Print the commands and settings that connect a client, ready to be copied."""
    path = command()
    typed = shlex.quote(path)
    servers = json.dumps({"zapomni": {"command": path, "args": []}}, ensure_ascii=False)
    console.print("\nConnect Claude Code:", style="bold")
    console.print(f"   claude mcp add zapomni -- {typed}", soft_wrap=True)
    console.print("Claude Desktop, Cursor, Gemini CLI, in their settings:", style="bold")
    console.print(f'   "mcpServers": {servers}', soft_wrap=True)
    console.print("VS Code, Zed, Codex CLI and others: README.md. From the shell:", style="bold")
    console.print(f"   {typed} add 'something worth keeping'", soft_wrap=True)
