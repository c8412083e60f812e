"""The sentences of a text, and the code in it: what is read one at a time."""

# ruff: noqa: RUF001 (the punctuation of other scripts looks like ours)

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from zapomni_core.chunking.layout import CODE, SENTENCES
from zapomni_core.chunking.markdown import sections_of

LONGEST = 2000
"""Characters of a sentence. What is longer is a list or data, and is cut so that no step takes long."""

_ABBREVIATION = re.compile(
    r"""
    (?: ^ | [\s("«„“] ) (?: (?: \w \. )* \w
      | Mr | Mrs | Ms | Dr | Prof | St | Sr | Sra | Jr | Mme | Mlle | Hr | Fr | Nr | No | vs | etc | Inc | Ltd | Co | cf | ca | approx
      | Jan | Feb | Mar | Apr | Jun | Jul | Aug | Sept? | Oct | Nov | Dec | Okt | Dez | e\.g | i\.e | z\.B | d\.h | u\.a | ул | им | проф | акад | см | руб | тыс | т\.е | т\.к | г-н | р
    ) \. \s* $
    """,
    re.VERBOSE,
)
_LOOK_BACK = 12
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]")
_CODE_LINE = re.compile(
    r"""
    (?: async[ ] )? def [ ] \w+ [ ]* \( | class [ ] \w+ [^.!?\n]{0,200} [:{] \s* $ | from [ ] [\w.]+ [ ] import [ ]
    | import [ ] (?: [\w.]+ | [\w{}*, ]{1,200} from [ ] ) [ '"\w./@-]* ;? \s* $ | \#include [ ] [<"] | use [ ] [\w:]+ (?: ; | ::)
    | (?: export[ ] | pub[ ] | public[ ] | static[ ] | private[ ] )* (?: func | fn | function | struct | interface | enum ) [ ] \w+
    | package [ ] [\w.]+ ;? \s* $ | (?: const | let | var ) [ ] \w+ [ ]? = | @\w+ \s* $ | [)}\]]+ [;,:]? \s* $ | \#! | //
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of a text that is read for itself: a sentence, an item of a list, a heading, or a block of code."""

    start: int
    end: int
    text: str
    heading: bool = False
    code: bool = False


def sentences_of(text: str) -> Iterator[Sentence]:
    """All that there is to read, in order. White space around it is left out, and so is what is empty."""
    if not text:
        return
    if _looks_like_code(text):
        yield Sentence(0, len(text), text, code=True)
        return
    for section in sections_of(text):
        for block in section.blocks:
            if block.layout is CODE:
                yield Sentence(block.start, block.end, text[block.start : block.end], code=True)
            else:
                yield from _sentences(text, block.start, block.end)


def _looks_like_code(text: str) -> bool:
    """Whether the first lines that say something are definitions, imports, or indented, and nothing is fenced."""
    lines = [line for line in text[:LONGEST].splitlines() if line.strip()]
    clear = sum(1 for line in lines if _CODE_LINE.match(line))
    indented = sum(1 for line in lines if line.startswith(("  ", "\t")))
    return clear >= 1 and (clear + indented) * 2 > len(lines) and "```" not in text


def _sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    while start < end:
        stop = _stop(text, start, end)
        raw = text[start:stop]
        cut = raw.strip()
        if cut:
            first = start + len(raw) - len(raw.lstrip())
            yield Sentence(first, first + len(cut), cut, heading=_HEADING.match(raw) is not None)
        start = stop


def _stop(text: str, start: int, end: int) -> int:
    """Where the sentence ends that begins here."""
    limit = min(start + LONGEST, end)
    at = start
    while found := _end().search(text, at, limit):
        is_ours = found.end() > start  # a full stop that no space follows also ends what went before
        at = max(found.end(), at + 1)
        if is_ours and not _ABBREVIATION.search(text, max(0, found.start() - _LOOK_BACK), found.end()):
            return at
    return limit if limit == end else _last_space(text, start, limit)


def _last_space(text: str, start: int, limit: int) -> int:
    cut = max(text.rfind(" ", start, limit), text.rfind("\n", start, limit))
    return cut + 1 if cut > start else limit


@cache
def _end() -> re.Pattern[str]:
    """The end of a paragraph, of a heading, of a turn in a conversation, or of a sentence."""
    return re.compile(
        rf"""
        \n (?: [^\S\n]*+ \n )++
        | ^ [ ]{{0,3}} \#{{1,6}} [ \t] [^\n]*+ \n
        | \n (?= [ ]{{0,3}} \#{{1,6}} [ \t] | \w{{1,30}} (?: [ ] \w{{1,30}} )? : \s )
        | {SENTENCES.pattern.pattern}
        """,
        re.VERBOSE | re.MULTILINE,
    )
