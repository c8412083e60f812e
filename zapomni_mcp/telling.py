"""What tools and commands say in the same words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zapomni_core.models import SearchResult
    from zapomni_db.records import EmbedderIdentity


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


def embedder_words(embedder: "EmbedderIdentity | None") -> str:
    """An embedder for people."""
    return f"{embedder.name} ({embedder.model}, {embedder.dimension} dimensions)" if embedder else "none yet"
