"""What is shown, step by step. Each step tells whether it held."""

import asyncio
import json
import shlex
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click
from rich.console import Console
from rich.status import Status
from rich.table import Table

from zapomni_mcp.cli.output import Guarded, claimed_output
from zapomni_mcp.demo.facts import FACTS, QUESTIONS
from zapomni_mcp.demo.notes import LEAK_WEEK, TITLE, long_document
from zapomni_mcp.demo.server import Server, call, command

if TYPE_CHECKING:
    from mcp import Client

LATE = 40
"""Memories that are on their way when the server is killed."""

KILL_AFTER = 15
"""Answers to wait for before that."""


async def demonstrate() -> bool:
    """Show everything; whether everything held."""
    output = cast("TextIO", Guarded(claimed_output()))
    console = Console(file=output, highlight=False, markup=False, emoji=False)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="zapomni-demo-") as folder:
        held = await _run(console, Server(Path(folder)))
    outcome = "Everything held" if held else "NOT everything held"
    console.print(f"\n{outcome}, in {time.perf_counter() - started:.0f} s. Of this store, nothing is left.")
    if held:
        say_how_to_connect(console)
    return held


async def _run(console: Console, server: Server) -> bool:
    """Whether everything held; not, where the server fails, and then what it said.

    Where nobody can read what is shown, nothing more is done.
    """
    from mcp import MCPError

    held, unread = False, None
    try:
        with console.status("") as status:
            held = await Demonstration(console, status, server).run()
    except* (click.ClickException, click.exceptions.Exit) as failures:
        unread = _first(failures)
    except* (MCPError, OSError, RuntimeError) as failures:
        console.print(f"\nIt broke off: {_first(failures)}", style="bold")
        console.print(server.last_words(), soft_wrap=True)
        console.print("What is wrong here, and how to mend it: zapomni doctor")
    if unread:
        raise unread
    return held


def _first(failure: BaseException) -> BaseException:
    return _first(failure.exceptions[0]) if isinstance(failure, BaseExceptionGroup) else failure


class Demonstration:
    """The steps, on one store."""

    def __init__(self, console: Console, status: Status, server: Server) -> None:
        self._console = console
        self._status = status
        self._server = server
        self._kept: dict[str, str] = {}

    async def run(self) -> bool:
        """Every step; whether all of them held."""
        self._step("1. Remember: a real server over stdio, a real MCP client, a store of its own")
        async with self._server.client() as client:
            await self._remember(client)
            self._step("2. Ask, in other words and in other languages")
            answered = await self._ask(client)
            self._step("3. Kill the server (kill -9) while it is remembering")
            await self._remember_and_kill(client)
        async with asyncio.TaskGroup() as both:
            looked = both.create_task(self._look_again())
            plugins = both.create_task(self._server.command_line("plugins"))
        self._step("4. Every tool is a plugin; one line of `zapomni plugins`")
        return all([answered, looked.result(), self._show_plugin(plugins.result().splitlines())])

    async def _remember(self, client: "Client") -> None:
        self._say(f"The server is process {self._server.pid}. The first memory loads the model.")
        started = time.perf_counter()
        for number, fact in enumerate(FACTS, start=1):
            self._status.update(f"fact {number} of {len(FACTS)}")
            await self._add(client, fact)
        self._say(f"{len(FACTS)} facts in English, Russian, German and Spanish: {_seconds(started)}")
        document = long_document()
        started = time.perf_counter()
        self._status.update("a long document")
        chunks = await self._add(client, document, language="markdown", source="garden.md")
        size = len(document.encode()) / 1000
        self._say(f"'{TITLE}', {size:.0f} KB in {chunks} chunks: {_seconds(started)}")

    async def _ask(self, client: "Client") -> bool:
        table = _table("question", "memory that was found", "score", "ms")
        right = 0
        for question, telling in QUESTIONS:
            self._status.update(question)
            started = time.perf_counter()
            hits = (await call(client, "search_memory", query=question, limit=3))["results"]
            milliseconds = (time.perf_counter() - started) * 1000
            text = hits[0]["text"] if hits else "(nothing)"
            right += telling in text
            score = f"{hits[0]['similarity_score']:.2f}" if hits else ""
            table.add_row(question, _around(telling, text), score, f"{milliseconds:.0f}")
        self._console.print(table)
        self._say(
            f"{right} of {len(QUESTIONS)} right. The last is one sentence in week {LEAK_WEEK} of the long document."
        )
        self._say("The score says how sure the search is: more so where words agree, too.")
        return right == len(QUESTIONS)

    async def _remember_and_kill(self, client: "Client") -> None:
        """Ask for many memories at once, and kill the server when some of them are acknowledged."""
        from mcp import MCPError

        before, pid = len(self._kept), self._server.pid

        async def add(text: str) -> None:
            with suppress(MCPError):  # the connection is gone: never acknowledged
                await self._add(client, text)
                if len(self._kept) == before + KILL_AFTER:
                    self._server.kill()

        self._status.update("remembering, until the server is killed")
        async with asyncio.TaskGroup() as all_of_them:
            for text in _late_texts():
                all_of_them.create_task(add(text))
        acknowledged = len(self._kept) - before
        self._say(f"{LATE} sent at once; process {pid} killed: {acknowledged} were acknowledged by then.")

    async def _look_again(self) -> bool:
        self._status.update("starting the server again")
        async with self._server.client() as client:
            found = 0
            for memory_id, text in self._kept.items():
                with suppress(RuntimeError):
                    memory = await call(client, "get_memory", memory_id=memory_id, max_chars=1_000_000)
                    found += memory["text"] == text.strip()
            total = (await call(client, "get_stats"))["statistics"]["total_memories"]
        self._say(f"Started again as process {self._server.pid}: of {len(self._kept)} acknowledged memories,")
        self._say(f"{found} are there, word for word ({total - found} more were written, not yet acknowledged).")
        return found == len(self._kept)

    def _show_plugin(self, lines: list[str]) -> bool:
        ours = [line for line in lines if line.split()[:1] == ["memory"]]
        for line in [*lines[:1], *ours]:
            self._say(line)
        return len(ours) == 1 and "loaded" in ours[0]

    async def _add(self, client: "Client", text: str, **metadata: str) -> int:
        """Remember a text, and that it was acknowledged; how many chunks it has."""
        added = await call(client, "add_memory", text=text, metadata=metadata)
        self._kept[added["memory_id"]] = text
        return int(added["chunks_created"])

    def _step(self, title: str) -> None:
        self._status.update(title)
        self._console.print(f"\n{title}", style="bold")

    def _say(self, text: str) -> None:
        self._console.print(f"   {text}", soft_wrap=True)


def _late_texts() -> list[str]:
    return [f"Night shift, entry {number}: pump {number} ran at {40 + number} bar." for number in range(1, LATE + 1)]


def _table(*headings: str) -> Table:
    table = Table(box=None, expand=True, padding=(0, 0, 0, 2), header_style="dim")
    for heading, ratio in zip(headings[:2], (7, 6), strict=True):
        table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for heading in headings[2:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _around(telling: str, text: str) -> str:
    """The sentence of a text that tells, in one line; the beginning where none does."""
    before, found, _ = text.partition(telling)
    start = max(before.rfind(end) for end in (". ", ": ", "\n")) + 1 if found else 0
    return " ".join(text[start:].split())


def _seconds(started: float) -> str:
    return f"{time.perf_counter() - started:.1f} s"


def say_how_to_connect(console: Console) -> None:
    """Show what to type, and what to write into a client's settings, each as it can be copied."""
    path = command()
    typed = shlex.quote(path)
    servers = json.dumps({"zapomni": {"command": path, "args": []}}, ensure_ascii=False)
    console.print("\nConnect Claude Code:", style="bold")
    console.print(f"   claude mcp add zapomni -- {typed}", soft_wrap=True)
    console.print("Claude Desktop, Cursor, Gemini CLI, in their settings:", style="bold")
    console.print(f'   "mcpServers": {servers}', soft_wrap=True)
    console.print("VS Code, Zed, Codex CLI and others: README.md. From the shell:", style="bold")
    console.print(f"   {typed} add 'something worth keeping'", soft_wrap=True)
