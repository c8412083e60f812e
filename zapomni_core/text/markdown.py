"""Finds the sections of a Markdown text: each heading with what is under it, and fenced code as blocks of their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from zapomni_core.text.boundaries import CODE, PROSE, Layout

_LONGEST_TITLE = 200

_EVENT = re.compile(
    r"""
    ^ [ \t]*+ (?P<fence> `{3,}+ | ~{3,}+ ) (?P<info> [^\n]*+ ) $
    | ^ [ ]{0,3} (?P<marks> \#{1,6} ) (?P<title> [ \t\r] [^\n]*+ )? $
    | (?: \A | (?<=\n\n) | (?<=\n\r\n) ) (?P<line> [^\s\#>|*+-] [^\n]*+ ) \n [ ]{0,3} (?P<rule> =++ | -{3,}+ ) [ \t\r]*+ $
    """,
    re.VERBOSE | re.MULTILINE,
)
_RULE = re.compile(r"\n {0,3}(?:=|---)")
_MARKS = re.compile(r"^ {0,3}#", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_DECORATION = re.compile(r"[*`]|(?:^|\s)#+\s*$|\{#[^{}]*\}\s*$")
_EMPTY_LINE_BEFORE = re.compile(r"(?:\A|\n)[^\S\n]*\n\Z|\A\Z")
_EMPTY_LINE_AFTER = re.compile(r"\n[^\S\n]*(?:\n|\Z)|\Z")
_A_LINE = 100


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text of one layout. One that is `whole` is only cut if it does not fit into a chunk."""

    start: int
    end: int
    layout: Layout
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive blocks with one path of headings above them. A chunk never spans two sections."""

    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class _Fence:
    start: int
    end: int


@dataclass(slots=True)
class _Draft:
    """A section while it is read: where it starts, where its headings end, and the fences found in it."""

    start: int
    body: int
    path: list[_Heading]
    fences: list[_Fence] = field(default_factory=list)

    def to_section(self, end: int) -> Section:
        titles = [heading.title for heading in self.path]
        return Section(" > ".join(filter(None, titles)), tuple(_blocks(self.start, end, self.fences)))


def has_headings(text: str) -> bool:
    """Whether the text clearly has Markdown headings. A comment in a script looks like one, but rarely stands alone."""
    if not _may_have_headings(text):
        return False
    headings = (found for found in _outline(text) if isinstance(found, _Heading))
    return any(heading.level > 1 or _stands_alone(text, heading) for heading in headings)


def _may_have_headings(text: str) -> bool:
    """A quick check: whether any line begins like a heading or like the rule under one."""
    if "\n" not in text:
        return _MARKS.match(text) is not None
    return bool(_MARKS.search(text) or _RULE.search(text))


def sections_of(text: str) -> list[Section]:
    """The sections, from one heading to the next. A heading with nothing under it joins the following section."""
    drafts = [_Draft(0, 0, [])]
    for found in _outline(text):
        draft = drafts[-1]
        if isinstance(found, _Fence):
            draft.fences.append(found)
        elif text[draft.body : found.start].strip():
            drafts.append(_Draft(found.start, found.end, _below(draft.path, found)))
        else:
            draft.path, draft.body = _below(draft.path, found), found.end
    ends = [draft.start for draft in drafts[1:]] + [len(text)]
    return [draft.to_section(end) for draft, end in zip(drafts, ends, strict=True)]


def _outline(text: str) -> Iterator[_Heading | _Fence]:
    """Yield the headings and fenced blocks, in order. Lines inside a fence are never headings."""
    opening = ""
    start = 0
    for event in _EVENT.finditer(text):
        if opening and _closes(event, opening):
            yield _Fence(start, min(event.end() + 1, len(text)))
            opening = ""
        elif not opening and event["fence"]:
            opening, start = event["fence"] if _opens(event) else "", event.start()
        elif not opening:
            yield _heading(event)
    if opening:
        yield _Fence(start, len(text))


def _opens(event: re.Match[str]) -> bool:
    """Backticks with more backticks on the line are code within the line."""
    return not (event["fence"].startswith("`") and "`" in event["info"])


def _closes(event: re.Match[str], opening: str) -> bool:
    """A fence closes with at least as many of its own marks, and nothing after them."""
    return bool(event["fence"]) and event["fence"].startswith(opening) and not event["info"].strip()


def _heading(event: re.Match[str]) -> _Heading:
    if event["marks"]:
        return _Heading(event.start(), event.end(), len(event["marks"]), _title(event["title"] or ""))
    return _Heading(event.start(), event.end(), 1 if event["rule"].startswith("=") else 2, _title(event["line"]))


def _title(raw: str) -> str:
    """A heading's text without its decoration."""
    return _DECORATION.sub("", _LINK.sub(r"\1", raw.strip()[:_LONGEST_TITLE])).strip()


def _below(path: list[_Heading], heading: _Heading) -> list[_Heading]:
    return [*(above for above in path if above.level < heading.level), heading]


def _stands_alone(text: str, heading: _Heading) -> bool:
    before = text[max(0, heading.start - _A_LINE) : heading.start]
    after = text[heading.end : heading.end + _A_LINE]
    return bool(_EMPTY_LINE_BEFORE.search(before) and _EMPTY_LINE_AFTER.match(after))


def _blocks(start: int, end: int, fences: list[_Fence]) -> Iterator[Block]:
    """Yield the prose and the fenced blocks of one section, in turn."""
    for fence in fences:
        if start < fence.start:
            yield Block(start, fence.start, PROSE)
        yield Block(fence.start, fence.end, CODE, whole=True)
        start = fence.end
    if start < end:
        yield Block(start, end, PROSE)
