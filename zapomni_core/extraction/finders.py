"""The kinds of things that are told by their shape, in the order in which they are looked for."""

# ruff: noqa: RUF001 (the quotation marks of other scripts look like ours)

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from zapomni_core.extraction import eastern, shapes
from zapomni_core.extraction.letters import WITHOUT_CAPITALS, cased
from zapomni_core.extraction.mention import Mention


class Finder(NamedTuple):
    """A kind of thing: signs without which there is none, its pattern, and what a match of it names."""

    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Iterable[Mention]]
    in_ascii: bool = True

    def may_find(self, text: str) -> bool:
        """Whether it is worth looking."""
        if not self.in_ascii and text.isascii():
            return False
        for sign in self.signs:
            if sign in text:
                return True
        return not self.signs


@cache
def finders() -> tuple[Finder, ...]:
    """All kinds, those first that contain others. No pattern looks at a character more than a fixed number of times."""
    return (*_addresses(), *_places(), *_identifiers(), *_titles())


def _addresses() -> tuple[Finder, ...]:
    w = cased() + "0-9_"
    ends = r"\s<>\"'`«»“”„\u3000-\u303f\u3041-\u3096\uff00-\uffef"  # the marks of Chinese and Japanese, and hiragana
    scheme = r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://"
    glued = rf"(?<=[{WITHOUT_CAPITALS}])(?:{scheme}|www\.)[^{ends}{WITHOUT_CAPITALS}]+"
    url = rf"{glued}|(?:(?<![\w+.-]){scheme}|(?<!\w)www\.)[^{ends}]+"
    email = rf"(?<![{w}.+-])[{w}.+-]{{1,64}}@[{w}-]{{1,63}}(?:\.[{w}-]{{1,63}})+"
    return (
        Finder(("://", "www."), re.compile(url), shapes.read_url),
        Finder(("@",), re.compile(email), shapes.read_email),
        Finder(("`",), re.compile(r"(?<!`)`([^`\s]{1,100})`(?!`)"), shapes.read_code),
    )


def _places() -> tuple[Finder, ...]:
    w = cased() + "0-9_"
    windows = r"(?<!\w)(?:[A-Za-z]:\\|\\\\)(?:[^\\/:*?\"<>|\s]++\\?+)++"
    unix = rf"(?<![{w}./~\\@+-])(?:~|[{w}.@+-]{{1,100}}+)?(?:/[{w}.@+%=-]++)++/?"
    dotted = rf"(?<![{w}./@-])[{w}][{w}-]*+(?:\.[{w}][{w}-]*+)++"
    tag = r"(?<![\w&#@/.])[#@](?=[^\W\d_])[\w-]{1,50}"
    return (
        Finder(("\\",), re.compile(windows), shapes.read_path),
        Finder(("/",), re.compile(unix), shapes.read_path),
        Finder((".",), re.compile(dotted), shapes.read_dotted),
        Finder(("#", "@"), re.compile(tag), shapes.read_tag),
    )


def _identifiers() -> tuple[Finder, ...]:
    w = cased() + "0-9_"
    snake = rf"(?<![{w}])(?:_*+[A-Za-z0-9]++(?:_++[A-Za-z0-9]++)++_*+|__[a-z]++__)(?![{w}])"
    called = rf"(?<![{w}])[A-Za-z_][A-Za-z0-9_]*+(?=\(\))"
    camel = rf"(?<![{w}'’])[a-z]++[0-9]*+[A-Z][A-Za-z0-9]*+(?![{w}])"
    ticket = rf"(?<![{w}-])[A-Z][A-Z0-9]{{1,9}}-[0-9]{{1,7}}(?![{w}-])"
    uuid = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    digest = rf"(?<![{w}-])(?:{uuid}|[0-9a-f]{{7,64}}|[0-9A-F]{{7,64}})(?![{w}-])"
    return (
        Finder(("_",), re.compile(snake), shapes.read_identifier),
        Finder(("()",), re.compile(called), shapes.read_identifier),
        Finder((), re.compile(camel), shapes.read_identifier),
        Finder(("-",), re.compile(ticket), shapes.read_identifier),
        Finder((), re.compile(digest), shapes.read_digest),
    )


def _titles() -> tuple[Finder, ...]:
    pairs = ("“”", "«»", "「」", "『』", "《》", "〈〉")
    between = [rf"{pair[0]}([^{pair}\n]{{1,80}}){pair[1]}" for pair in pairs]
    quoted = "|".join([r'(?<!\w)"(?=\S)([^"\n]{2,80})(?<=\S)"(?!\w)', r"„([^„“”\n]{1,80})[“”]", *between])
    latin = "[A-Za-z][A-Za-z0-9+#-]*+(?: [A-Z][A-Za-z0-9+#-]*+){0,3}"
    w, other = cased() + "0-9_", WITHOUT_CAPITALS
    foreign = rf"(?:(?<=[{other}])|(?<=[{other}] )){latin}|(?<![{w}]){latin}(?=\ ?[{other}])"
    return (
        Finder(('"', "“", "«", "„", "「", "『", "《", "〈"), re.compile(quoted), shapes.read_title),
        Finder((), re.compile(foreign), shapes.read_foreign, in_ascii=False),
        Finder((), eastern.persons(), eastern.read_person, in_ascii=False),
        Finder((), eastern.known(), eastern.read_known, in_ascii=False),
    )
