"""Cuts a text into the chunks that are embedded and found.

A text becomes sections, sections become blocks, blocks become pieces, and a chunk takes as many pieces as it holds.
Offsets count characters of the text as it was given.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from zapomni_core.text.boundaries import (
    ANYWHERE,
    CODE,
    DEFINITION,
    LINE,
    PARAGRAPH,
    PROSE,
    SENTENCES,
    WORDS,
    Boundary,
    Layout,
    is_joined,
    last_boundary,
)
from zapomni_core.text.markdown import Block, Section, has_headings, sections_of

_LEAST_FILL = (1.0, 0.5, 0.5, 0.5, 0.3, 0.15)
"""The fill, by strength, from which a chunk ends at such a place rather than at a weaker one further on."""
_COUNTED_LENGTH = 8
"""Characters a token up to which a text may fit into a chunk or an overlap, and its tokens are counted."""
_LONGEST_TOKEN = 16
"""Characters that count as at least one token whatever the counter says, which limits the characters of a chunk."""
_PIECE_STEP = 32
"""Least characters of a piece that is a line, words or arbitrary text; finer pieces cost time and gain nothing."""
_OVERLAP_STEP = 8
"""Characters between the places where an overlap may begin, in text without sentences and words."""

_MARKDOWN_NAMES = frozenset({"markdown", "md", "mdx"})
_TEXT_NAMES = frozenset({"plain", "plaintext", "text", "txt"})
_CODE_NAMES = frozenset(
    [
        *("bash", "batch", "c", "c#", "c++", "clojure", "cpp", "cs", "csharp", "css", "dart", "dockerfile", "elixir"),
        *("erlang", "f#", "fsharp", "go", "golang", "groovy", "h", "haskell", "hpp", "hs", "html", "ini", "java"),
        *("javascript", "js", "json", "jsonl", "jsx", "julia", "kotlin", "kt", "less", "lisp", "lua", "makefile"),
        *("matlab", "nim", "objective-c", "objc", "ocaml", "pascal", "perl", "php", "powershell", "proto", "protobuf"),
        *("py", "python", "r", "rb", "rs", "ruby", "rust", "scala", "scss", "sh", "shell", "solidity", "sql", "svelte"),
        *("swift", "terraform", "toml", "ts", "tsx", "typescript", "vb", "vue", "xml", "yaml", "yml", "zig", "zsh"),
    ]
)

TokenCounter = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text, from `start` to `end`. What is before `fresh` repeats the end of the previous chunk.

    The fresh parts of all chunks, joined, are the text. `heading` is the path of headings above the chunk, `A > B > C`,
    where the text is Markdown.
    """

    start: int
    fresh: int
    end: int
    heading: str = ""


class Piece(NamedTuple):
    """A piece reaches to the start of the next one. Its strength is that of the place where it begins."""

    start: int
    strength: int
    cost: int


def is_markdown(language: str | None) -> bool:
    """Whether a text in this language is Markdown."""
    return _name(language) in _MARKDOWN_NAMES


def is_text(language: str | None) -> bool:
    """Whether a text in this language is neither code nor Markdown, whatever it looks like."""
    return _name(language) in _TEXT_NAMES


def is_code(language: str | None) -> bool:
    """Whether a text in this language is code."""
    return _name(language) in _CODE_NAMES


def _name(language: str | None) -> str:
    return (language or "").strip().casefold()


def chunk(
    text: str,
    *,
    tokens: TokenCounter,
    language: str | None = None,
    chunk_tokens: int = 200,
    overlap_tokens: int = 30,
) -> list[Chunk]:
    """Cut a text into chunks of about `chunk_tokens` of fresh text, each after about `overlap_tokens` of the previous one.

    `tokens` counts the tokens of a short text; the embedder provides it. `language` is `markdown`, `text` or the name
    of a programming language. Without it, or if it is unknown, a text with Markdown headings is Markdown, any other is
    text.
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
    if is_code(language) or is_text(language):
        return False
    return has_headings(text) or is_markdown(language)


def _fits(text: str, tokens: TokenCounter, chunk_tokens: int) -> bool:
    """Whether a text is one chunk, as most are; counting is cheaper than cutting."""
    return len(text) <= chunk_tokens * _COUNTED_LENGTH and tokens(text) <= chunk_tokens


def _chunks(
    text: str, section: Section, tokens: TokenCounter, chunk_tokens: int, overlap_tokens: int
) -> Iterator[Chunk]:
    start, end = section.blocks[0].start, section.blocks[-1].end
    if _fits(text[start:end], tokens, chunk_tokens):
        return iter([Chunk(start, start, end, section.heading)])
    return _cut(text, section, tokens, chunk_tokens, overlap_tokens)


def _cut(text: str, section: Section, tokens: TokenCounter, chunk_tokens: int, overlap_tokens: int) -> Iterator[Chunk]:
    firsts = list(_first_pieces(_pieces(text, section.blocks, tokens, chunk_tokens), chunk_tokens))
    ends = [piece.start for piece in firsts[1:]] + [section.blocks[-1].end]
    yield Chunk(firsts[0].start, firsts[0].start, ends[0], section.heading)
    for (before, piece), stop in zip(pairwise(firsts), ends[1:], strict=True):
        fresh = piece.start
        no_overlap = piece.strength >= DEFINITION  # the previous chunk ends with a whole definition
        start = fresh if no_overlap else _overlap_start(text, before.start, fresh, tokens, overlap_tokens)
        yield Chunk(start, fresh, stop, section.heading)


def _pieces(text: str, blocks: Iterable[Block], tokens: TokenCounter, limit: int) -> Iterator[Piece]:
    """Cut blocks into pieces, most of at most half of `limit`, so that they pack well."""
    cutter = _Cutter(text, tokens, limit)
    for block in blocks:
        small_enough = limit if block.whole else limit // 2
        yield from cutter.cut(block.start, block.end, block.layout, PARAGRAPH, small_enough)


class _Cutter:
    def __init__(self, text: str, tokens: TokenCounter, limit: int) -> None:
        self._text = text
        self._tokens = tokens
        self._limit = limit

    def cut(self, start: int, end: int, layout: Layout, strength: int, small_enough: int) -> Iterator[Piece]:
        """Yield the whole part if it is small enough, else cut it at the best kind of place, and so on."""
        cost = self._cost(start, end)
        if cost <= small_enough:
            yield Piece(start, strength, cost)
        elif not layout:
            yield from self._cut_anywhere(start, end, strength)
        else:
            kind, finer = layout[0], layout[1:]
            for first, last in pairwise(chain([start], self._places(kind, start, self._stop(start, end)), [end])):
                begins = strength if first == start else kind.strength
                yield from self.cut(first, last, finer, begins, self._limit // 2)

    def _places(self, kind: Boundary, start: int, end: int) -> Iterator[int]:
        """Yield the places to cut at before `end`, lines and words only `_PIECE_STEP` apart."""
        step = _PIECE_STEP if kind.strength <= LINE else 1
        before = start
        for match in kind.pattern.finditer(self._text, start, end):
            at = match.end()
            if before + step <= at < end and not is_joined(self._text, at):
                yield at
                before = at

    def _cut_anywhere(self, start: int, end: int, strength: int) -> Iterator[Piece]:
        """Cut a part at equal steps. The white space at its end stays with the last piece, which may exceed the limit."""
        stop = self._stop(start, end)
        while start < stop:
            at = last_boundary(self._text, start, min(start + _PIECE_STEP, stop))
            yield Piece(start, strength, self._cost(start, at if at < stop else end))
            start, strength = at, ANYWHERE

    def _stop(self, start: int, end: int) -> int:
        """The start of the white space at the end of a part."""
        return start + len(self._text[start:end].rstrip())

    def _cost(self, start: int, end: int) -> int:
        """Count the tokens of a part. White space alone costs nothing; a part that is too long anyway is not counted."""
        stripped = self._text[start:end].strip()
        least = (end - start) // _LONGEST_TOKEN if stripped else 0
        return least if least > self._limit else max(least, self._tokens(stripped))


def _first_pieces(pieces: Iterable[Piece], limit: int) -> Iterator[Piece]:
    """Yield the first piece of every chunk. The window holds a quarter more than a chunk, so that the last is no scrap."""
    window: list[Piece] = []
    total = 0
    for piece in pieces:
        window.append(piece)
        total += piece.cost
        while total > limit + limit // 4:
            yield window[0]
            total -= _take_chunk(window, limit, limit)
    while total > limit:
        yield window[0]
        total -= _take_chunk(window, limit, total - limit // 4)
    if window:
        yield window[0]


def _take_chunk(window: list[Piece], limit: int, most: int) -> int:
    """Remove the pieces of one chunk; return what they cost."""
    count = _best_cut(window, limit, most)
    cost = sum(piece.cost for piece in window[:count])
    del window[:count]
    return cost


def _best_cut(window: list[Piece], limit: int, most: int) -> int:
    """The number of pieces of the chunk: up to the strongest place that leaves it full enough, the last of several."""
    best, strongest = 1, -1
    for count, filled in enumerate(accumulate(piece.cost for piece in window[:-1]), start=1):
        strength = window[count].strength
        if filled > min(limit, most):
            break
        if filled < _LEAST_FILL[strength] * limit:
            strength = -1
        if strength >= strongest:
            best, strongest = count, strength
    return best


def _overlap_start(text: str, lowest: int, fresh: int, tokens: TokenCounter, most: int) -> int:
    """The start of the overlap before `fresh`: at a sentence if that gives enough, else at a word, else anywhere.

    The overlap costs at most `most` tokens and begins at `lowest` at the earliest, where the previous chunk begins.
    """
    earliest = max(lowest, fresh - most * _COUNTED_LENGTH)

    def cost(at: int) -> int:
        return tokens(text[at:fresh].strip())

    for places in (
        _ends(SENTENCES, text, earliest, fresh),
        _ends(WORDS, text, earliest, fresh),
        range(earliest + _OVERLAP_STEP, fresh, _OVERLAP_STEP),
    ):
        fit = [at for at in places if not is_joined(text, at)]
        candidates = [lowest, *fit] if earliest == lowest else fit
        index = bisect_left(candidates, True, key=lambda at: cost(at) <= most)
        if index < len(candidates) and cost(candidates[index]) > most // 3:
            return candidates[index]
    return fresh


def _ends(kind: Boundary, text: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in kind.pattern.finditer(text, start, end) if start < match.end() < end)
