"""`zapomni add`: remember a text, a file, or standard input."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from zapomni_core.text.plural import counted
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.options import TEXT, combined, json_object, shared_options
from zapomni_mcp.cli.output import Progress, one_line

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.models import MemoryResult

MAX_BYTES = 40_000_000
"""In bytes: ten million characters of up to four bytes each."""

LANGUAGES = {
    "cs": "csharp",
    "htm": "html",
    "js": "javascript",
    "kt": "kotlin",
    "md": "markdown",
    "mdx": "markdown",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "ts": "typescript",
    "txt": "text",
    "yml": "yaml",
}
"""By file suffixes that are not names of languages themselves."""

HEADLINES = {
    "stored": "Stored",
    "existing": "Already remembered",
    "restored": "This had been deleted; restored",
}


def _single(_ctx: click.Context, _option: click.Parameter, files: tuple[Path, ...]) -> Path | None:
    """The file, if one was given. Without this, click would silently use the last of several."""
    if len(files) > 1:
        raise click.BadParameter("give one file at a time; each file becomes one memory")
    return files[0] if files else None


@click.command()
@shared_options()
@click.argument("text", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    callback=_single,
    help="Remember this file.",
)
@click.option("--tag", "tags", type=TEXT, multiple=True, metavar="TAG", help="Add a tag; may be repeated.")
@click.option("--source", type=TEXT, help="Where it comes from; default for a file: its name.")
@click.option("--author", type=TEXT, help="Who said or wrote it.")
@click.option("--conversation", type=TEXT, help="The conversation it belongs to.")
@click.option("--timestamp", type=TEXT, metavar="WHEN", help="When it was true: 2026-05-08, or with a time.")
@click.option("--language", type=TEXT, help="Language of code or Markdown; default for a file: by its suffix.")
@click.option("--metadata", callback=json_object, metavar="JSON", help="More metadata to filter by: a JSON object.")
@click.option("--replaces", type=TEXT, metavar="ID", help="The memory that this one corrects.")
@with_context
def add(context: CommandContext, text: str | None, file: Path | None, replaces: str | None, **metadata: Any) -> None:
    """Remember a text, a file, or standard input.

    TEXT is read from standard input if it is - or if neither TEXT nor --file is given. The same text with the same
    metadata is stored once.
    """
    content = _read(text, file)
    all_metadata = _metadata(file, **metadata)

    async def work(engine: "MemoryEngine") -> int:
        with Progress() as progress:
            show_progress(progress)
            result = await engine.add_memory(content, all_metadata, replaces=replaces)
        context.json(result) if context.as_json else show_added(context, result)
        return 0

    context.run(work)


def _read(text: str | None, file: Path | None) -> str:
    """The text to store. Standard input is read before a plugin can read it."""
    if text is not None and file is not None:
        raise click.UsageError("TEXT and --file are both given; choose one.")
    if file is not None:
        return read_text(file)
    if text is not None and text != "-":
        return text
    if sys.stdin is None or (text is None and sys.stdin.isatty()):
        raise click.UsageError("field required: text; give TEXT, --file FILE, or - for standard input.")
    return _decode(sys.stdin.buffer, "Standard input")


def read_text(file: Path) -> str:
    """The text in a file."""
    try:
        with file.open("rb") as stream:
            return _decode(stream, str(file))
    except OSError as error:
        raise InvalidRequest(f"cannot read {file}: {error.strerror}") from None


def _decode(stream: BinaryIO, name: str) -> str:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidRequest("text exceeds maximum length (10,000,000 characters)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest(f"{name} is not UTF-8 text") from None


def _metadata(file: Path | None, *, metadata: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The metadata of the options; source and language of a file by its name, unless they were given."""
    from_file = {"source": file.name, "language": _language(file)} if file else {}
    given = {key: list(value) if key == "tags" else value for key, value in options.items() if value}
    return {key: value for key, value in from_file.items() if value} | combined(metadata, given, "--metadata")


def _language(file: Path) -> str | None:
    from zapomni_core.text.chunks import is_code, is_markdown, is_text

    suffix = file.suffix.removeprefix(".").lower()
    language = LANGUAGES.get(suffix, suffix)
    return language if is_code(language) or is_markdown(language) or is_text(language) else None


def show_progress(progress: Progress) -> None:
    """Show the engine's progress, which it reports to the current call."""
    from zapomni_core.dispatch.call import Call, CallContext, call_context

    call_context.set(CallContext(call=Call(id="add", name="add", arguments={}), on_progress=progress.show))


def show_added(context: CommandContext, result: "MemoryResult") -> None:
    """Print what was stored."""
    chunks = counted(result.chunks_created, "chunk")
    context.out.text(f"{HEADLINES[result.outcome]}: {result.memory_id} ({chunks})")
    context.out.text(one_line(result.text_preview))
    if result.replaced:
        context.out.text(f"It replaces {result.replaced}, which zapomni get still shows.")
    if result.moved_facts:
        context.out.text(f"{result.moved_facts}.")
    if result.similar:
        context.out.text(f"It says nearly the same as {result.similar}: to correct that one, add this with --replaces.")
    if result.entities_extracted is not None:
        context.out.text(_extracted(result))
    if result.vectors_later:
        context.out.text(result.vectors_later)


def _extracted(result: "MemoryResult") -> str:
    if result.status == "success":
        entities = counted(result.entities_extracted or 0, "entity", "entities")
        found = f"Extracted {entities} and {counted(result.relationships_extracted or 0, 'relation')}."
        return f"{found} Left out {result.left_out:,} that are not in the text." if result.left_out else found
    why = f" {result.failure.message}" if result.failure else ""
    later = "" if result.job_id is None else f" Job {result.job_id} will extract them: see zapomni jobs."
    return f"It can be found, but no entities were extracted.{why}{later}"
