"""`zapomni edit`: correct a memory's text in an editor, or change its metadata."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import click

from zapomni_mcp.cli.add import read_text, show_added, show_progress
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.options import TEXT, shared_options
from zapomni_mcp.cli.output import Progress, one_line

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.models import MemoryResult
    from zapomni_db.records import Memory

NOT_CHANGED = "Nothing was changed."


@click.command()
@shared_options()
@click.argument("memory_id", metavar="ID")
@click.option(
    "--set", "changes", type=TEXT, multiple=True, metavar="KEY=VALUE", help="Set metadata to a JSON value or a string."
)
@click.option("--unset", "remove", type=TEXT, multiple=True, metavar="KEY", help="Remove a key of the metadata.")
@click.option("--tag", "add_tags", type=TEXT, multiple=True, metavar="TAG", help="Add a tag.")
@click.option("--untag", "remove_tags", type=TEXT, multiple=True, metavar="TAG", help="Remove a tag.")
@with_context
def edit(
    context: CommandContext,
    memory_id: str,
    *,
    changes: tuple[str, ...],
    remove: tuple[str, ...],
    add_tags: tuple[str, ...],
    remove_tags: tuple[str, ...],
) -> None:
    """Edit a memory: its text in $VISUAL or $EDITOR, or its metadata with the options.

    A saved text becomes a new version with the same metadata, which replaces the old one. The options, which may be
    repeated, change the metadata in place and open no editor. Messages and documents: only the metadata can be changed.
    """
    if not (changes or remove or add_tags or remove_tags):
        _edit_text(context, memory_id)
        return
    metadata = _parse(changes, remove, memory_id)

    async def work(engine: "MemoryEngine") -> int:
        before = await engine.get_memory(memory_id)
        after = await engine.update_metadata(
            memory_id, metadata, remove=remove, add_tags=add_tags, remove_tags=remove_tags
        )
        changed = json.dumps(dict(after.metadata)) != json.dumps(dict(before.metadata))
        if context.as_json:
            context.json({"changed": changed, "memory_id": after.id, "replaced": None, "metadata": after.metadata})
            return 0
        context.out.text(f"Changed: {after.id}" if changed else NOT_CHANGED)
        for key, value in after.metadata.items():
            context.out.text(one_line(f"{key}: {json.dumps(value, ensure_ascii=False)}"))
        return 0

    context.run(work)


def _parse(changes: Sequence[str], remove: Sequence[str], memory_id: str) -> dict[str, Any]:
    """The metadata to set."""
    from zapomni_core.memory.content import INDEXED

    pairs = [change.partition("=") for change in changes]
    for key, _, value in pairs:
        if not (key and value):
            raise click.BadParameter("give KEY=VALUE; --unset KEY removes a key", param_hint="'--set'")
    keys = [key for key, _, _ in pairs] + list(remove)
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise click.UsageError(f"{', '.join(twice)}: given more than once in --set and --unset.")
    if indexed := next((key for key in keys if key in INDEXED), None):
        raise InvalidRequest(
            f"{indexed} is part of the search index and cannot be changed in place.\n"
            f"Add a new version with the metadata that you want, such as"
            f" zapomni get {memory_id} | zapomni add - --{indexed} ... --replaces {memory_id}"
        )
    return {key: _value(value) for key, _, value in pairs}


def _value(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse_constant)
    return text


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN is not JSON, so it is a string


def _edit_text(context: CommandContext, memory_id: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidRequest(
            "Editing a text needs a terminal.\n"
            "--set, --unset, --tag and --untag change metadata without one; zapomni add - --replaces ID stores a new text."
        )

    async def find(engine: "MemoryEngine") -> "Memory":
        return await engine.get_memory(memory_id)

    memory = context.query(find)
    _check_editable(memory)
    file = _temporary_file(memory.text)
    try:
        click.edit(filename=str(file))
        _save(context, memory, read_text(file), file)
    finally:
        _remove_unless_edited(file, memory.text)


def _is_new(text: str, before: str) -> bool:
    """Whether a text has changed, apart from its line endings and blank space at the end."""
    lines = text.rstrip().splitlines()
    return bool(lines) and lines != before.rstrip().splitlines()


def _check_editable(memory: "Memory") -> None:
    if memory.kind != "memory":
        raise InvalidRequest(
            f"memory {memory.id} is a {memory.kind}: its text cannot be changed, because a new version"
            f" would lose its place among the {memory.kind}s.\n"
            "Its metadata can be changed with --set, --unset, --tag and --untag."
            f" To correct what it says, run: zapomni add TEXT --replaces {memory.id}"
        )
    if memory.deleted_at:
        raise click.ClickException(f"memory {memory.id} is deleted; zapomni restore brings it back")
    if memory.replaced_by:
        raise click.ClickException(f"memory {memory.id} was replaced by {memory.replaced_by}; edit that one")


def _temporary_file(text: str) -> Path:
    """A temporary file with the text, which only the user can read."""
    with NamedTemporaryFile("w", encoding="utf-8", newline="", prefix="zapomni-", suffix=".txt", delete=False) as file:
        file.write(f"{text}\n")
    return Path(file.name)


def _remove_unless_edited(file: Path, before: str) -> None:
    """Remove the file, unless it holds an edited text that was not stored."""
    if not file.exists():
        return
    text = file.read_text(encoding="utf-8", errors="replace")
    if _is_new(text, before):
        click.echo(f"The edited text is in {file}", err=True)
    else:
        file.unlink()


def _save(context: CommandContext, memory: "Memory", text: str, file: Path) -> None:
    """Store the text as a new version, and then remove the file."""
    if not _is_new(text, memory.text):
        if context.as_json:
            context.json({"changed": False, "memory_id": memory.id, "replaced": None, "metadata": memory.metadata})
        else:
            context.out.text(NOT_CHANGED if text.strip() else f"The text is empty. {NOT_CHANGED}")
        return

    async def work(engine: "MemoryEngine") -> int:
        with Progress() as progress:
            show_progress(progress)
            result = await engine.add_memory(text, memory.metadata, replaces=memory.id)
        _show_version(context, memory, result, file)
        return 0

    context.run(work)


def _show_version(context: CommandContext, memory: "Memory", result: "MemoryResult", file: Path) -> None:
    file.unlink()
    if context.as_json:
        document = {"changed": True, "memory_id": result.memory_id, "replaced": result.replaced}
        context.json(document | {"metadata": memory.metadata})
    else:
        show_added(context, result)
