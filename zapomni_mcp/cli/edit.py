"""`zapomni edit`: correct a memory's text in an editor, or change its metadata."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import click

from zapomni_mcp.cli.add import follow, read_text, show_added
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.progress import Progress
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.cli.text import TEXT

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.models import MemoryResult
    from zapomni_db.records import Memory

NOT_CHANGED = "Nothing was changed."


@click.command()
@shared_options()
@click.argument("memory_id", metavar="ID")
@click.option(
    "--set", "changes", type=TEXT, multiple=True, metavar="KEY=VALUE", help="Set metadata to a JSON value, else text."
)
@click.option("--unset", "remove", type=TEXT, multiple=True, metavar="KEY", help="Remove a key of the metadata.")
@click.option("--tag", "add_tags", type=TEXT, multiple=True, metavar="TAG", help="Add a tag.")
@click.option("--untag", "remove_tags", type=TEXT, multiple=True, metavar="TAG", help="Remove a tag.")
@with_session
def edit(
    session: Session,
    memory_id: str,
    *,
    changes: tuple[str, ...],
    remove: tuple[str, ...],
    add_tags: tuple[str, ...],
    remove_tags: tuple[str, ...],
) -> None:
    """Edit a memory: its text in $VISUAL or $EDITOR, or its metadata with the options.

    A saved text becomes a new version, which replaces the old one and has the same metadata. The options, which may be
    repeated, change the metadata in place and open no editor. Of a message or a document only the metadata can be changed.
    """
    if not (changes or remove or add_tags or remove_tags):
        _edit_text(session, memory_id)
        return
    metadata = _parse(changes, remove, memory_id)

    async def work(engine: "MemoryEngine") -> int:
        before = await engine.get_memory(memory_id)
        after = await engine.update_metadata(
            memory_id, metadata, remove=remove, add_tags=add_tags, remove_tags=remove_tags
        )
        changed = json.dumps(dict(after.metadata)) != json.dumps(dict(before.metadata))
        if session.as_json:
            session.json({"changed": changed, "memory_id": after.id, "replaced": None, "metadata": after.metadata})
            return 0
        session.out.text(f"Changed: {after.id}" if changed else NOT_CHANGED)
        for key, value in after.metadata.items():
            session.out.text(one_line(f"{key}: {json.dumps(value, ensure_ascii=False)}"))
        return 0

    session.run(work)


def _parse(changes: Sequence[str], remove: Sequence[str], memory_id: str) -> dict[str, Any]:
    """The metadata to set."""
    from zapomni_core.engine import INDEXED

    pairs = [change.partition("=") for change in changes]
    for key, _, value in pairs:
        if not (key and value):
            raise click.BadParameter("give KEY=VALUE; --unset KEY removes a key", param_hint="'--set'")
    keys = [key for key, _, _ in pairs] + list(remove)
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise click.UsageError(f"{', '.join(twice)}: given more than once in --set and --unset.")
    if indexed := next((key for key in keys if key in INDEXED), None):
        raise Refusal(
            f"{indexed} is part of the search index and cannot be changed in place.\n"
            f"Add a new version with the metadata that it shall have, such as"
            f" zapomni get {memory_id} | zapomni add - --{indexed} ... --replaces {memory_id}"
        )
    return {key: _value(value) for key, _, value in pairs}


def _value(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse_constant)
    return text


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN is no JSON, so it is text


def _edit_text(session: Session, memory_id: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refusal(
            "There is no terminal to edit on.\n"
            "--set, --unset, --tag and --untag change metadata without one; zapomni add - --replaces ID takes a new text."
        )

    async def look(engine: "MemoryEngine") -> "Memory":
        return await engine.get_memory(memory_id)

    memory = session.look(look)
    _check_editable(memory)
    file = _written(memory.text)
    try:
        click.edit(filename=str(file))
        _save(session, memory, read_text(file), file)
    finally:
        _tidy(file, memory.text)


def _is_new(text: str, before: str) -> bool:
    """Whether a text is another one, however an editor ends its lines and the last of them."""
    lines = text.rstrip().splitlines()
    return bool(lines) and lines != before.rstrip().splitlines()


def _check_editable(memory: "Memory") -> None:
    if memory.kind != "memory":
        raise Refusal(
            f"memory {memory.id} is a {memory.kind}: its text stays as it was stored, because a new version"
            f" would lose its place among the {memory.kind}s.\n"
            "Its metadata can be changed with --set, --unset, --tag and --untag."
            f" To correct what it says, run: zapomni add TEXT --replaces {memory.id}"
        )
    if memory.deleted_at:
        raise click.ClickException(f"memory {memory.id} is deleted; zapomni restore brings it back")
    if memory.replaced_by:
        raise click.ClickException(f"memory {memory.id} was replaced by {memory.replaced_by}; edit that one")


def _written(text: str) -> Path:
    """A file of the user's own with the text."""
    with NamedTemporaryFile("w", encoding="utf-8", newline="", prefix="zapomni-", suffix=".txt", delete=False) as file:
        file.write(f"{text}\n")
    return Path(file.name)


def _tidy(file: Path, before: str) -> None:
    """Remove the file, unless it holds an edited text that was not stored."""
    if not file.exists():
        return
    text = file.read_text(encoding="utf-8", errors="replace")
    if _is_new(text, before):
        click.echo(f"The edited text is in {file}", err=True)
    else:
        file.unlink()


def _save(session: Session, memory: "Memory", text: str, file: Path) -> None:
    """Store the text as a new version, and then remove the file."""
    if not _is_new(text, memory.text):
        if session.as_json:
            session.json({"changed": False, "memory_id": memory.id, "replaced": None, "metadata": memory.metadata})
        else:
            session.out.text(NOT_CHANGED if text.strip() else f"The text is empty. {NOT_CHANGED}")
        return

    async def work(engine: "MemoryEngine") -> int:
        with Progress() as progress:
            follow(progress)
            result = await engine.add_memory(text, memory.metadata, replaces=memory.id)
        _stored(session, memory, result, file)
        return 0

    session.run(work)


def _stored(session: Session, memory: "Memory", result: "MemoryResult", file: Path) -> None:
    file.unlink()
    if session.as_json:
        document = {"changed": True, "memory_id": result.memory_id, "replaced": result.replaced}
        session.json(document | {"metadata": memory.metadata})
    else:
        show_added(session, result)
