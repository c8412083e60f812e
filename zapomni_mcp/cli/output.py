"""What a command prints: its own output, kept apart from whatever plugins print."""

import json
import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TextIO

import click

from zapomni_mcp.descriptors import claim_stdout

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

CLOSED_PIPE = 141
INDENT = " " * 6
NARROWEST = 20
UNCUT = 1_000_000
"""Columns, more than any line has."""

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
    """A command's own output. Make it before any plugin is imported: what they print goes to standard error."""

    def __init__(self) -> None:
        self._file = claimed_output()

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None where the output is no terminal."""
        return shutil.get_terminal_size().columns if self._file.isatty() else None

    def json(self, document: Any) -> None:
        """Print a JSON document."""
        text = json.dumps(document, ensure_ascii=False, indent=2)
        self._write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")

    def text(self, text: str) -> None:
        """Print text that others wrote, without the control characters that a terminal would obey."""
        self._write(_CONTROL.sub("", text) + "\n")

    def whole(self, text: str) -> None:
        """Print a text exactly, unless it is a terminal that would obey its control characters."""
        self._write((_CONTROL.sub("", text) if self._file.isatty() else text) + "\n")

    def table(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        right: Sequence[str] = (),
        whole: bool = False,
    ) -> None:
        """Print a table, a line for each row; where the terminal is narrow, the last column gives way first.

        Where it is to be whole, nothing is cut, however long a line becomes: what is in it can be copied.
        """
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            side: Literal["left", "right"] = "right" if heading in right else "left"
            table.add_column(heading, justify=side, no_wrap=heading != headings[-1], overflow="ellipsis")
        for row in rows:
            table.add_row(*map(_cell, row))
        self._render(table, self._uncut if whole else self._console)

    def marked(self, mark: str, text: str) -> None:
        """Print a paragraph behind a mark such as `ok` or `fail`."""
        from rich.text import Text

        width = max(self._console.width - len(INDENT), NARROWEST)
        lines = textwrap.wrap(one_line(text), width, break_long_words=False, break_on_hyphens=False)
        body = f"\n{INDENT}".join(lines)
        marked = Text.assemble((mark.ljust(len(INDENT)), STYLES.get(mark, "")), body)
        self._render(marked, self._console, soft_wrap=True)

    def step(self, text: str) -> None:
        """Print a next step beneath a paragraph, unbroken, so that a command in it can be copied."""
        self.text(f"{INDENT}fix: {one_line(text)}")

    @cached_property
    def _console(self) -> "Console":
        return self._make_console(None)

    @cached_property
    def _uncut(self) -> "Console":
        return self._make_console(UNCUT)

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
            raise _given_up(self._file, error) from None


@contextmanager
def written_whole(file: TextIO) -> Iterator[None]:
    """What others print there meanwhile is written to its end, or it is told in a sentence that it cannot be."""
    try:
        yield
    finally:
        try:
            file.flush()
        except OSError as error:
            raise _given_up(file, error) from None


def _given_up(file: TextIO, error: OSError) -> Exception | SystemExit:
    """How to end after that. What is left in the buffer is written at exit, and would raise there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    if isinstance(error, BrokenPipeError):
        return SystemExit(CLOSED_PIPE)
    return click.ClickException(f"Standard output cannot be written: {error.strerror}")


class Guarded:
    """A file for somebody who writes to it in tasks of his own, as a live display does.

    Where it cannot be written, that is told by an ordinary exception of click's, so that what is open is closed first.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        with self._guarded():
            return self._file.write(text)

    def flush(self) -> None:
        with self._guarded():
            self._file.flush()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            ending = _given_up(self._file, error)
            raise click.exceptions.Exit(CLOSED_PIPE) if isinstance(ending, SystemExit) else ending from None


def claimed_output() -> TextIO:
    """The file for what a command prints; an error in a line where standard output is closed."""
    try:
        return claim_stdout()
    except OSError as error:
        raise click.ClickException(str(error)) from None


def one_line(text: str) -> str:
    """The text in one line, without control characters."""
    return _CONTROL.sub("", " ".join(text.split()))


def _cell(text: str) -> "RenderableType":
    from rich.text import Text

    return Text(one_line(text), style=STYLES.get(text, ""), no_wrap=True, overflow="ellipsis")
