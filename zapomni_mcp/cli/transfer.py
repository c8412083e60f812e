"""`zapomni export` and `zapomni import`: move memories between stores, machines and workspaces."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from uuid import uuid4

import click

from zapomni_mcp.cli.backup import checked_target
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import Progress

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.memory.transfer import Exported, Imported, OnProgress

_BESIDE_SQLITE = ("", "-wal", "-shm", ".lock")
"""Endings of the files of a SQLite store."""


@click.command("export")
@shared_options()
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@with_context
def export_memories(context: CommandContext, file: Path | None, force: bool) -> None:
    """Write the memories of a workspace to a file that zapomni import reads.

    Without FILE, or with -, they are written to standard output. The file has one JSON document a line: sessions and
    memories with their history and facts, deleted and replaced ones too.
    """
    target = None if file is None or str(file) == "-" else checked_target(file.absolute(), force=force)
    if target is None and context.as_json:
        raise InvalidRequest("--json needs FILE: standard output is for the memories")

    async def work(engine: "MemoryEngine") -> int:
        from zapomni_core.memory.transfer import export_workspace

        stats = await engine.get_stats()
        if target:
            _check_not_store(target, stats.location)
        with Progress() as progress, _writer(context, target) as write:
            exported = await export_workspace(engine, write, _shown(progress, "exported"))
        _print_exported(context, target, exported)
        others = [name for name in stats.workspaces if name != engine.workspace]
        if others:
            click.echo(f"Not exported: other workspaces of the store ({', '.join(others)}); use --workspace.", err=True)
        return 0

    context.run(work)


@click.command("import")
@shared_options()
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@with_context
def import_memories(context: CommandContext, file: Path | None) -> None:
    """Add the memories in a file of zapomni export to a workspace.

    FILE is read from standard input if it is - or if it is not given. What is there already stays as it is, so importing a
    file twice changes nothing; if it is interrupted, run it again to continue.
    """
    source = _source(file)

    async def work(engine: "MemoryEngine") -> int:
        from zapomni_core.memory.transfer import Imported, import_file

        imported, is_complete = Imported(), False
        try:
            with Progress() as progress, source as stream:
                await import_file(engine, stream, imported, _shown(progress, "imported"))
            is_complete = True
        finally:
            if not is_complete and imported.header:
                done = f"Until then: {_amount(imported)} imported, {imported.existing:,} there already."
                click.echo(f"{done} Import the file again to continue.", err=True)
        _print_imported(context, engine.workspace, imported)
        return 0

    context.run(work)


def _source(file: Path | None) -> AbstractContextManager[BinaryIO]:
    """The file to read, opened when it is entered. Standard input is taken before a plugin can read it."""
    if file is not None and str(file) != "-":
        return _opened(file)
    if sys.stdin is None or (file is None and sys.stdin.isatty()):
        raise click.UsageError("field required: file; give FILE, or - for standard input.")
    return nullcontext(sys.stdin.buffer)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    try:
        with file.open("rb") as stream:
            yield stream
    except OSError as error:
        raise InvalidRequest(f"cannot read {file}: {error.strerror}") from None


def _shown(progress: Progress, verb: str) -> "OnProgress":
    async def show(done: int, total: int) -> None:
        await progress.show(done, total, f"{verb} {done:,} of {total:,} memories")

    return show


def _check_not_store(target: Path, location: str) -> None:
    if str(target.resolve()) in {f"{location}{ending}" for ending in _BESIDE_SQLITE}:
        raise InvalidRequest(f"{target} is the store itself; choose another file")


@contextmanager
def _writer(context: CommandContext, target: Path | None) -> Iterator[Callable[[bytes], object]]:
    """A function that writes a line. A file appears only when it is complete, and only its owner can read it."""
    if target is None:
        yield lambda line: context.out.exact(line.decode().removesuffix("\n"))
        return
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with _created(part) as stream:
            yield stream.write
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except OSError as error:
        raise click.ClickException(f"{target} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink()


def _created(part: Path) -> BinaryIO:
    return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb")


def _print_exported(context: CommandContext, target: Path | None, exported: "Exported") -> None:
    counts = exported.header.counts
    if context.as_json:
        made = {"memories": exported.memories, "sessions": exported.sessions, "waiting_jobs": counts.waiting_jobs}
        context.json({"target": str(target), "workspace": exported.header.workspace, **made})
        return
    amount = f"{_count(exported.memories, 'memory', 'memories')} and {_count(exported.sessions, 'session')}"
    hidden = f" ({counts.deleted:,} deleted, {counts.replaced:,} replaced)" if counts.deleted + counts.replaced else ""
    done = f"Exported {amount} of workspace '{exported.header.workspace}'{hidden}."
    context.out.text(done) if target else click.echo(done, err=True)
    if counts.waiting_jobs:
        click.echo(f"Not exported: {_count(counts.waiting_jobs, 'job')} that wait; see zapomni jobs.", err=True)


def _print_imported(context: CommandContext, workspace: str, imported: "Imported") -> None:
    origin = imported.header.workspace if imported.header else ""
    if context.as_json:
        made = {"stored": imported.stored, "existing": imported.existing, "sessions": imported.sessions}
        context.json({"workspace": workspace, "exported_from": origin, **made})
        return
    source = f", exported from '{origin}'" if origin != workspace else ""
    context.out.text(f"Imported {_amount(imported)} into workspace '{workspace}'{source}.")
    if imported.existing:
        were = "was" if imported.existing == 1 else "were"
        context.out.text(f"{_count(imported.existing, 'memory', 'memories')} of the file {were} there already.")


def _amount(imported: "Imported") -> str:
    return f"{_count(imported.stored, 'memory', 'memories')} and {_count(imported.sessions, 'session')}"


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
