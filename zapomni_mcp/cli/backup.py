"""`zapomni backup` and `zapomni restore-backup`: a copy of the whole store, and the way back."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.session import Session, with_session

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine


@click.command()
@shared_options()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
@with_session
def backup(session: Session, target: Path, force: bool) -> None:
    """Write a copy of the whole store, all workspaces, to a file.

    Servers may go on working meanwhile; the copy is that of one moment.
    """
    target = _allowed(target.absolute(), force=force)

    async def work(engine: "MemoryEngine") -> int:
        await engine.backup(target)
        size = target.stat().st_size
        if session.as_json:
            session.out.json({"target": str(target), "bytes": size})
        else:
            session.out.text(f"Wrote {target} ({size / 2**20:.1f} MB).")
        return 0

    session.run(work)


@click.command()
@shared_options()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_session
def restore_backup(session: Session, source: Path, yes: bool) -> None:
    """Put a backup in the place of the store.

    The store that was there is kept beside it. Servers that are running must be started again.
    """
    if not yes:
        _ask(source)

    async def work(engine: "MemoryEngine") -> int:
        aside = await engine.restore_backup(source)
        if session.as_json:
            session.out.json({"source": str(source), "before": None if aside is None else str(aside)})
        else:
            session.out.text(f"The store is the backup {source} now.")
            if aside is not None:
                session.out.text(f"What was there before is {aside}. Start the servers that are running again.")
        return 0

    session.run(work)


def _ask(source: Path) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refusal("This replaces the whole store, and there is no terminal to ask on: add --yes")
    click.confirm(f"Put {source} in the place of the whole store, all workspaces?", abort=True, err=True)


def _allowed(target: Path, *, force: bool) -> Path:
    if target.is_dir():
        raise Refusal(f"{target} is a directory; name a file in it")
    if not target.parent.is_dir():
        raise Refusal(f"There is no directory {target.parent}")
    if target.exists() and not force:
        raise Refusal(f"{target} is there already; --force overwrites it")
    return target
