"""`zapomni backup` and `zapomni restore-backup`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.options import shared_options

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine


@click.command()
@shared_options()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@with_context
def backup(context: CommandContext, target: Path, force: bool) -> None:
    """Write a copy of the whole store, all workspaces, to a file.

    Running servers may continue to write; the copy is a consistent snapshot.
    """
    target = checked_target(target.absolute(), force=force)

    async def work(engine: "MemoryEngine") -> int:
        await engine.backup(target)
        size = target.stat().st_size
        if context.as_json:
            context.out.json({"target": str(target), "bytes": size})
        else:
            context.out.text(f"Wrote {target} ({size / 2**20:.1f} MB).")
        return 0

    context.run(work)


@click.command()
@shared_options()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_context
def restore_backup(context: CommandContext, source: Path, yes: bool) -> None:
    """Replace the store by a backup.

    The previous store is kept beside it. Running servers must be restarted.
    """
    if not yes:
        _confirm(source)

    async def work(engine: "MemoryEngine") -> int:
        aside = await engine.restore_backup(source)
        if context.as_json:
            context.out.json({"source": str(source), "before": None if aside is None else str(aside)})
        else:
            context.out.text(f"Restored the store from {source}.")
            if aside is not None:
                context.out.text(f"The previous store is {aside}. Restart running servers.")
        return 0

    context.run(work)


def _confirm(source: Path) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidRequest("This replaces the whole store, and there is no terminal to confirm it on; use --yes")
    click.confirm(f"Replace the whole store, all workspaces, by {source}?", abort=True, err=True)


def checked_target(target: Path, *, force: bool) -> Path:
    """A file that may be written."""
    if target.is_dir():
        raise InvalidRequest(f"{target} is a directory; name a file in it")
    if not target.parent.is_dir():
        raise InvalidRequest(f"directory {target.parent} does not exist")
    if target.exists() and not force:
        raise InvalidRequest(f"{target} exists; use --force to overwrite it")
    return target
