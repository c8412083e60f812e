"""Chunks, and how a text becomes them: sections, then blocks, then pieces, then as many pieces as a chunk holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from zapomni_core.chunking.languages import is_code, is_markdown, is_text
from zapomni_core.chunking.layout import CODE, DEFINITION, PROSE
from zapomni_core.chunking.markdown import has_headings, sections_of
from zapomni_core.chunking.overlap import overlap_start
from zapomni_core.chunking.packing import first_pieces
from zapomni_core.chunking.pieces import pieces_of
from zapomni_core.chunking.sections import Block, Section

LONGEST_TOKEN = 8  # characters, in a text that is worth counting


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text, from `start` to `end`. What is before `fresh` repeats the end of the chunk before it.

    The fresh parts of all chunks, one after the other, are the text. `heading` is the path of headings above the chunk,
    `A > B > C`, where the text is Markdown.
    """

    start: int
    fresh: int
    end: int
    heading: str = ""


def chunk(
    text: str,
    *,
    tokens: Callable[[str], int],
    language: str | None = None,
    chunk_tokens: int = 200,
    overlap_tokens: int = 30,
) -> list[Chunk]:
    """The chunks of a text: about `chunk_tokens` of fresh text each, after about `overlap_tokens` of the one before.

    `tokens` counts the tokens of a short text; the embedder has it. `language` is `markdown`, `text` or the name of a
    programming language. Without it, and if nobody knows it, a text with Markdown headings is Markdown, any other is text.
    """
    if not text:
        return []
    if _has_sections(text, language):
        sections = sections_of(text)
        return [part for section in sections for part in _chunks(text, section, tokens, chunk_tokens, overlap_tokens)]
    if _fits(text, tokens, chunk_tokens):
        return [Chunk(0, 0, len(text))]
    whole = Section("", (Block(0, len(text), CODE if is_code(language) else PROSE),))
    return list(_cut(text, whole, tokens, chunk_tokens, overlap_tokens))


def _has_sections(text: str, language: str | None) -> bool:
    if language and (is_code(language) or is_text(language)):
        return False
    return has_headings(text) or is_markdown(language)


def _fits(text: str, tokens: Callable[[str], int], chunk_tokens: int) -> bool:
    """Whether a text is one chunk: most are, and cutting costs more than counting."""
    return len(text) <= chunk_tokens * LONGEST_TOKEN and tokens(text) <= chunk_tokens


def _chunks(
    text: str, section: Section, tokens: Callable[[str], int], chunk_tokens: int, overlap_tokens: int
) -> Iterator[Chunk]:
    start, end = section.blocks[0].start, section.blocks[-1].end
    if _fits(text[start:end], tokens, chunk_tokens):
        return iter([Chunk(start, start, end, section.heading)])
    return _cut(text, section, tokens, chunk_tokens, overlap_tokens)


def _cut(
    text: str, section: Section, tokens: Callable[[str], int], chunk_tokens: int, overlap_tokens: int
) -> Iterator[Chunk]:
    pieces = pieces_of(text, section.blocks, tokens, chunk_tokens)
    firsts = list(first_pieces(pieces, chunk_tokens))
    ends = [piece.start for piece in firsts[1:]] + [section.blocks[-1].end]
    yield Chunk(firsts[0].start, firsts[0].start, ends[0], section.heading)
    for (before, piece), stop in zip(pairwise(firsts), ends[1:], strict=True):
        fresh = piece.start
        whole = piece.strength >= DEFINITION  # what went before is a thing of its own
        start = fresh if whole else overlap_start(text, before.start, fresh, tokens, overlap_tokens)
        yield Chunk(start, fresh, stop, section.heading)
