"""`zapomni add`: remember a text, a file, or standard input."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from zapomni_mcp.cli.json_object import combined, json_object
from zapomni_mcp.cli.options import shared_options
from zapomni_mcp.cli.output import one_line
from zapomni_mcp.cli.progress import Progress
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.session import Session, with_session
from zapomni_mcp.cli.text import TEXT

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.models import MemoryResult

LONGEST_INPUT = 40_000_000
"""Bytes: no character of UTF-8 has more than four, and no memory more than ten million characters."""

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
"""By the endings of files that are no names of languages themselves."""

HEADLINES = {
    "stored": "Stored",
    "existing": "Already remembered",
    "restored": "This had been deleted; restored",
}


def _only_one(_ctx: click.Context, _option: click.Parameter, files: tuple[Path, ...]) -> Path | None:
    """The file, if one was given. Click would take the last of several, and leave out the others without a word."""
    if len(files) > 1:
        raise click.BadParameter("give one file at a time; each becomes a memory of its own")
    return files[0] if files else None


@click.command()
@shared_options()
@click.argument("text", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    callback=_only_one,
    help="Remember this file.",
)
@click.option("--tag", "tags", type=TEXT, multiple=True, metavar="TAG", help="Add a tag; may be repeated.")
@click.option("--source", type=TEXT, help="Where it comes from; a file's name, unless you say otherwise.")
@click.option("--author", type=TEXT, help="Who said or wrote it.")
@click.option("--conversation", type=TEXT, help="The conversation that it belongs to.")
@click.option("--timestamp", type=TEXT, metavar="WHEN", help="When it was true: 2026-05-08, or with a time.")
@click.option("--language", type=TEXT, help="Of code or Markdown; by the file's ending, unless you say otherwise.")
@click.option("--metadata", callback=json_object, metavar="JSON", help="More, to filter by: a JSON object.")
@click.option("--replaces", type=TEXT, metavar="ID", help="The memory that this corrects.")
@with_session
def add(session: Session, text: str | None, file: Path | None, replaces: str | None, **particulars: Any) -> None:
    """Remember a text, a file, or standard input.

    TEXT is read from standard input where it is -, or where neither TEXT nor --file is given. The same text with the
    same metadata is kept once.
    """
    given = _read(text, file)
    metadata = _metadata(file, **particulars)

    async def work(engine: "MemoryEngine") -> int:
        with Progress() as progress:
            follow(progress)
            result = await engine.add_memory(given, metadata, replaces=replaces)
        session.json(result) if session.as_json else show_added(session, result)
        return 0

    session.run(work)


def _read(text: str | None, file: Path | None) -> str:
    """What to remember. Standard input is read before any plugin could read it."""
    if text is not None and file is not None:
        raise click.UsageError("TEXT and --file are both given; choose one.")
    if file is not None:
        return read_text(file)
    if text is not None and text != "-":
        return text
    if sys.stdin is None or (text is None and sys.stdin.isatty()):
        raise click.UsageError("field required: text; give a TEXT, or --file FILE, or - for standard input.")
    return _decode(sys.stdin.buffer, "Standard input")


def read_text(file: Path) -> str:
    """The text in a file."""
    try:
        with file.open("rb") as opened:
            return _decode(opened, str(file))
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {error.strerror}") from None


def _decode(opened: BinaryIO, name: str) -> str:
    data = opened.read(LONGEST_INPUT + 1)
    if len(data) > LONGEST_INPUT:
        raise Refusal("text exceeds maximum length (10,000,000 characters)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{name} is no text in UTF-8") from None


def _metadata(file: Path | None, *, metadata: dict[str, Any], **particulars: Any) -> dict[str, Any]:
    """What was given of each; what a file tells by its name, where nothing else was said."""
    from_file = {"source": file.name, "language": _language(file)} if file else {}
    given = {key: list(value) if key == "tags" else value for key, value in particulars.items() if value}
    return {key: value for key, value in from_file.items() if value} | combined(metadata, given, "--metadata")


def _language(file: Path) -> str | None:
    from zapomni_core.text.chunks import is_code, is_markdown, is_text

    ending = file.suffix.removeprefix(".").lower()
    language = LANGUAGES.get(ending, ending)
    return language if is_code(language) or is_markdown(language) or is_text(language) else None


def follow(progress: Progress) -> None:
    """Let the engine tell its progress here: it does so within a call."""
    from zapomni_core.dispatch.call import Call, CallContext, call_context

    call_context.set(CallContext(call=Call(id="add", name="add", arguments={}), on_progress=progress.show))


def show_added(session: Session, result: "MemoryResult") -> None:
    chunks = f"{result.chunks_created:,} chunk{'s' * (result.chunks_created != 1)}"
    session.out.text(f"{HEADLINES[result.outcome]}: {result.memory_id} ({chunks})")
    session.out.text(one_line(result.text_preview))
    if result.replaced:
        session.out.text(f"It replaces {result.replaced}, which zapomni get still shows.")
    if result.moved_facts:
        session.out.text(f"{result.moved_facts}.")
    if result.entities_extracted is not None:
        session.out.text(_of_entities(result))


def _of_entities(result: "MemoryResult") -> str:
    if result.status == "success":
        read = f"{result.entities_extracted} entities and {result.relationships_extracted} relations were read in it."
        return f"{read} {result.left_out:,} more are not in the text, and were left out." if result.left_out else read
    why = f" {result.failure.message}" if result.failure else ""
    later = "" if result.job_id is None else f" Job {result.job_id} will: zapomni jobs shows it."
    return f"It can be found, but was not read for entities.{why}{later}"
