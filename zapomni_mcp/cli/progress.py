"""Shows how far a long work is, on standard error: a bar on a terminal, else a line now and then."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SECONDS = 5.0
"""Between two lines where there is no terminal."""


class Progress:
    """Takes what the work tells of itself. Nothing is shown of a work that is over at once."""

    def __init__(self) -> None:
        self._told: float | None = None
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    async def show(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far it is."""
        if sys.stderr is not None and sys.stderr.isatty():
            self._bar = self._bar or _make_bar()
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=message or "")
        else:
            self._tell(message)

    def _tell(self, message: str | None) -> None:
        now = time.monotonic()
        if self._told is None:
            self._told = now
        elif now - self._told >= SECONDS:
            self._told = now
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
