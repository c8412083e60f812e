"""The output of a command, kept apart from the output of plugins, and its progress."""

import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

import click

from zapomni_mcp import descriptors

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress as Bar

CLOSED_PIPE = 141
INDENT = " " * 6
MIN_WIDTH = 20
UNLIMITED_WIDTH = 1_000_000
PROGRESS_SECONDS = 5.0
"""Between two lines of progress on a standard error that is not a terminal."""

STYLES = {
    "ok": "green",
    "loaded": "green",
    "warn": "yellow",
    "fail": "bold red",
    "failed": "bold red",
    "disabled": "dim",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """A command's own output. Create it before plugins are imported: what they print goes to standard error."""

    def __init__(self) -> None:
        self._file = claim_stdout()

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None if the output is not a terminal."""
        return shutil.get_terminal_size().columns if self._file.isatty() else None

    def json(self, document: Any) -> None:
        """Print a JSON document."""
        text = json.dumps(document, ensure_ascii=False, indent=2)
        self._write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")

    def text(self, text: str) -> None:
        """Print text without its control characters, which a terminal would obey."""
        self._write(_CONTROL.sub("", text) + "\n")

    def exact(self, text: str) -> None:
        """Print text unchanged; on a terminal, without its control characters."""
        self._write((_CONTROL.sub("", text) if self._file.isatty() else text) + "\n")

    def table(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        right: Sequence[str] = (),
        full: bool = False,
    ) -> None:
        """Print a table, one line per row. The last column is cut first on a narrow terminal.

        `full` cuts nothing, however long a line becomes, so every value can be copied.
        """
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            side: Literal["left", "right"] = "right" if heading in right else "left"
            table.add_column(heading, justify=side, no_wrap=heading != headings[-1], overflow="ellipsis")
        for row in rows:
            table.add_row(*map(_cell, row))
        self._render(table, self._make_console(UNLIMITED_WIDTH) if full else self._console)

    def marked(self, mark: str, text: str) -> None:
        """Print a paragraph behind a mark such as `ok` or `fail`."""
        from rich.text import Text

        width = max(self._console.width - len(INDENT), MIN_WIDTH)
        lines = textwrap.wrap(one_line(text), width, break_long_words=False, break_on_hyphens=False)
        body = f"\n{INDENT}".join(lines)
        marked = Text.assemble((mark.ljust(len(INDENT)), STYLES.get(mark, "")), body)
        self._render(marked, self._console, soft_wrap=True)

    def fix(self, text: str) -> None:
        """Print a fix below a paragraph on one line, so a command in it can be copied."""
        self.text(f"{INDENT}fix: {one_line(text)}")

    @cached_property
    def _console(self) -> "Console":
        return self._make_console(None)

    def _make_console(self, width: int | None) -> "Console":
        from rich.console import Console

        return Console(file=self._file, width=width, markup=False, highlight=False, emoji=False)

    def _render(self, renderable: "RenderableType", console: "Console", *, soft_wrap: bool = False) -> None:
        with console.capture() as capture:
            console.print(renderable, soft_wrap=soft_wrap)
        self._write("\n".join(line.rstrip() for line in capture.get().split("\n")))

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise write_error(self._file, error) from None


@contextmanager
def flushed(file: TextIO) -> Iterator[None]:
    """Flush a file at the end; a write error becomes a message."""
    try:
        yield
    finally:
        try:
            file.flush()
        except OSError as error:
            raise write_error(file, error) from None


def write_error(file: TextIO, error: OSError) -> Exception | SystemExit:
    """The exception to raise for an error on standard output: exit code 141 for a closed pipe, else a message."""
    # Python writes the rest of the buffer at exit, and that would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    if isinstance(error, BrokenPipeError):
        return SystemExit(CLOSED_PIPE)
    return click.ClickException(f"Standard output cannot be written: {error.strerror}")


def claim_stdout() -> TextIO:
    """The file for a command's own output; an error message if standard output is closed."""
    try:
        return descriptors.claim_stdout()
    except OSError as error:
        raise click.ClickException(str(error)) from None


def one_line(text: str) -> str:
    """The text on one line, without control characters."""
    return _CONTROL.sub("", " ".join(text.split()))


def _cell(text: str) -> "RenderableType":
    from rich.text import Text

    return Text(one_line(text), style=STYLES.get(text, ""), no_wrap=True, overflow="ellipsis")


class Progress:
    """Shows progress on standard error: a bar on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._last_line: float | None = None
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    async def show(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the work is."""
        if sys.stderr is not None and sys.stderr.isatty():
            self._bar = self._bar or _make_bar()
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=message or "")
        else:
            self._print(message)

    def _print(self, message: str | None) -> None:
        now = time.monotonic()
        if self._last_line is None:
            self._last_line = now
        elif now - self._last_line >= PROGRESS_SECONDS:
            self._last_line = now
            click.echo(message, err=True)


def _make_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("")
    bar.start()
    return bar
