"""What tools and commands say in the same words."""

from typing import TYPE_CHECKING

from zapomni_mcp.kinds import kind_words

if TYPE_CHECKING:
    from zapomni_core.models import SearchResult
    from zapomni_db.records import EmbedderIdentity, Memory

_LONGEST_SOURCE = 28
_LONGEST_AUTHOR = 18
_LONGEST_TAGS = 40


def headline(result: "SearchResult") -> str:
    """How many hits there are, how far they can be trusted, and what was searched."""
    where = f"{_memories(result)} in workspace '{result.workspace}'{' that meet the filters' * result.filtered}"
    if not result.hits:
        return f"Nothing found among {where}."
    count = f"{len(result.hits)} result{'s' * (len(result.hits) != 1)}"
    if result.verdict == "nothing relevant":
        return f"Probably nothing relevant among {where}; the nearest {count}:"
    return f"Found {count} ({result.verdict} match) among {where}:"


def _memories(result: "SearchResult") -> str:
    searched = result.memories_searched
    return "the memories" if searched is None else f"{searched:,} memor{'y' if searched == 1 else 'ies'}"


def memory_line(memory: "Memory", width: int | None = None, least: int = 30) -> str:
    """A memory on one line: its id, date, what is known of it, and the beginning of its text.

    The text is cut to the width, but keeps at least so many characters.
    """
    from zapomni_core.intake import preview

    about = (
        memory.id,
        (memory.timestamp or memory.created_at).date().isoformat(),
        "deleted" if memory.deleted_at else "replaced" if memory.replaced_by else "",
        kind_words(memory.kind, memory.role, ""),
        short(memory.source, _LONGEST_SOURCE),
        short(memory.author, _LONGEST_AUTHOR),
        short(" ".join(f"#{tag}" for tag in memory.tags), _LONGEST_TAGS),
    )
    line = " · ".join(part for part in about if part) + " · "
    text = preview(memory.text)
    return line + (text if width is None else short(text, max(width - len(line), least)))


def short(text: str, most: int) -> str:
    """The text on one line, cut to so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def embedder_words(embedder: "EmbedderIdentity | None") -> str:
    """An embedder for people."""
    return f"{embedder.name} ({embedder.model}, {embedder.dimension} dimensions)" if embedder else "none yet"
