"""What code defines and imports, by the layout of its lines, in the languages that most of it is written in."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from zapomni_core.extraction.finders import Finder, finders
from zapomni_core.extraction.mention import Mention

_NAME = r"[^\W\d]\w*"
_DOTTED = rf"{_NAME}(?:\.{_NAME})*"

_LINE = re.compile(
    rf"""
    ^ [ \t]*+ (?: (?: export | default | public | private | protected | internal | static | final | abstract | sealed | async | pub | unsafe | override | data
                    | inline | virtual | open | partial ) (?: \(\w+\) )? [ \t]++ )*+
    (?:
      from [ \t]++ (?P<module> \.*+ {_DOTTED} ) [ \t]++ import [ \t]++ \(? [ \t]*+ (?P<names> [^\n#();]++ )
      | (?: import | using | use | require | package ) [ \t]++ (?: static [ \t]++ )? (?P<imported> {_DOTTED} (?: :: {_NAME} )*+ ) (?= [ \t]*+ (?: ; | $ | , | as\b | \r | :: ) )
      | (?P<kind> class | struct | interface | trait | enum | protocol | object | record | module | namespace ) [ \t]++ (?P<type> {_NAME} )
        (?: [ \t]*+ < [^<>\n]{{0,100}} > )?
        (?: \( (?P<bases> [^()\n]{{1,200}} ) \) | [ \t]++ (?: extends | : (?!:) ) [ \t]++ (?: (?: public | private | protected ) [ \t]++ )? (?P<base> {_DOTTED} (?: [ \t]*+ , [ \t]*+ {_DOTTED} )*+ ) )?
        (?: [ \t]*+ implements [ \t]++ (?P<implemented> {_DOTTED} (?: [ \t]*+ , [ \t]*+ {_DOTTED} )*+ ) )?
      | impl (?: <[^<>\n]{{0,100}}> )? [ \t]++ (?P<trait> {_NAME} ) (?: <[^<>\n]{{0,100}}> )? [ \t]++ for [ \t]++ (?P<of> {_NAME} )
      | (?: def | func | fn | fun | function | sub | proc ) [ \t]++ (?: \( [^()\n]{{0,100}} \) [ \t]*+ )? (?P<function> {_NAME} ) (?= [ \t]*+ [\[(<] )
    )
    """,
    re.VERBOSE | re.MULTILINE,
)
_IMPORTED = re.compile(rf"({_NAME})(?:[ \t]+as[ \t]+{_NAME})?")
_BASE = re.compile(rf"(?<![\w.=])({_DOTTED})(?![\w.]|[ \t]*=|\[)")
_NO_BASES = frozenset({"object"})


def read_code(text: str) -> Iterator[tuple[Mention, str, Mention | None]]:
    """What a block of code defines and imports, in order, each with how it is related to what is named with it, if it is.

    Addresses in it are found too. Places count from the start of the block.
    """
    for finder in _addresses():
        if finder.may_find(text):
            yield from (
                (mention, "", None) for mention in chain.from_iterable(map(finder.read, finder.pattern.finditer(text)))
            )
    for line in _LINE.finditer(text):
        yield from _read(line)


@cache
def _addresses() -> tuple[Finder, ...]:
    return tuple(finder for finder in finders() if "://" in finder.signs)


def _read(line: re.Match[str]) -> Iterator[tuple[Mention, str, Mention | None]]:
    if line["module"]:
        module = _mention(line, "module")
        yield module, "", None
        yield from ((name, "imported_from", module) for name in _listed(line, "names", _IMPORTED))
    elif line["trait"]:
        yield _mention(line, "of"), "implements", _mention(line, "trait")
    elif line["type"]:
        yield from _read_type(line)
    else:
        yield _mention(line, "imported" if line["imported"] else "function"), "", None


def _read_type(line: re.Match[str]) -> Iterator[tuple[Mention, str, Mention | None]]:
    defined = _mention(line, "type")
    yield defined, "", None
    for group, kind in (("bases", "extends"), ("base", "extends"), ("implemented", "implements")):
        yield from ((defined, kind, base) for base in _listed(line, group, _BASE) if base.name not in _NO_BASES)


def _mention(line: re.Match[str], group: str) -> Mention:
    return Mention(line.start(group), line.end(group), line[group], "identifier")


def _listed(line: re.Match[str], group: str, pattern: re.Pattern[str]) -> Iterator[Mention]:
    for found in pattern.finditer(line[group] or ""):
        start = line.start(group) + found.start(1)
        yield Mention(start, start + len(found[1]), found[1], "identifier")
