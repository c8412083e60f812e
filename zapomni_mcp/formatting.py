"""Formats memories and search results for people, the same in tools and commands."""

from typing import TYPE_CHECKING

from zapomni_core.text.plural import counted

if TYPE_CHECKING:
    from zapomni_core.models import SearchResult
    from zapomni_db.records import EmbedderIdentity, Memory

_LONGEST_SOURCE = 28
_LONGEST_AUTHOR = 18
_LONGEST_TAGS = 40


def headline(result: "SearchResult") -> str:
    """Say how many hits there are, how good they are, and what was searched."""
    where = f"{_memories(result)} in workspace '{result.workspace}'{' that meet the filters' * result.filtered}"
    if not result.hits:
        return f"Nothing found among {where}."
    count = counted(len(result.hits), "result")
    if result.verdict == "nothing relevant":
        return f"Probably nothing relevant among {where}; the nearest {count.removeprefix('1 ')}:"
    return f"Found {count} ({result.verdict} match) among {where}:"


def _memories(result: "SearchResult") -> str:
    searched = result.memories_searched
    return "the memories" if searched is None else counted(searched, "memory", "memories")


def format_memory(memory: "Memory", width: int | None = None, least: int = 30) -> str:
    """Format a memory on one line: id, date, origin and the beginning of its text.

    The text is cut to the width, but keeps at least ``least`` characters.
    """
    from zapomni_core.memory.content import preview

    about = (
        memory.id,
        (memory.timestamp or memory.created_at).date().isoformat(),
        "deleted" if memory.deleted_at else "replaced" if memory.replaced_by else "",
        format_kind(memory.kind, memory.role, ""),
        short(memory.source, _LONGEST_SOURCE),
        short(memory.author, _LONGEST_AUTHOR),
        short(" ".join(f"#{tag}" for tag in memory.tags), _LONGEST_TAGS),
    )
    line = " · ".join(part for part in about if part) + " · "
    text = preview(memory.text)
    return line + (text if width is None else short(text, max(width - len(line), least)))


def short(text: str, most: int) -> str:
    """Put a text on one line, cut to ``most`` characters; nothing if there is room for none."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    return line[: most - 1] + "…" if most > 1 else ""


def format_kind(kind: str, role: str, conversation: str) -> str:
    """Format the kind of a memory, such as `message by user in session ID`; nothing for a plain memory."""
    if kind == "memory":
        return ""
    by = f" by {role}" if role else ""
    session = f" in session {conversation}" if kind == "message" and conversation else ""
    return f"{kind}{by}{session}"


def format_embedder(embedder: "EmbedderIdentity | None") -> str:
    """Format the embedder of a store."""
    return f"{embedder.name} ({embedder.model}, {embedder.dimension} dimensions)" if embedder else "none yet"
