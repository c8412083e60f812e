"""`zapomni backup`: a copy of the whole store."""

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


def _allowed(target: Path, *, force: bool) -> Path:
    if target.is_dir():
        raise Refusal(f"{target} is a directory; name a file in it")
    if not target.parent.is_dir():
        raise Refusal(f"There is no directory {target.parent}")
    if target.exists() and not force:
        raise Refusal(f"{target} is there already; --force overwrites it")
    return target
