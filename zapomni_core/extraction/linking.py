"""How two names are related by what stands between them: by the words of a connector, or by what one is of the other."""

# ruff: noqa: RUF001 (the apostrophes of other hands look like ours)

import re
from dataclasses import dataclass
from functools import cache

from zapomni_core.extraction import eastern
from zapomni_core.extraction.connectors import CONNECTORS
from zapomni_core.extraction.wording import without_fillers
from zapomni_core.extraction.words import roles


@dataclass(frozen=True, slots=True)
class Link:
    """How two names that stand one after the other are related.

    `many` says that the first may be the last of several, `one` that it may stand alone.
    """

    type: str
    exclusive: bool = False
    inverse: bool = False
    people: bool = False
    open: bool = False
    many: bool = False
    one: bool = True
    past: bool = False
    ended: bool = False


_ROLE = r"[^\W\d_][\w-]*(?: [^\W\d_][\w-]*){0,2}"
_OF_ROLE = re.compile(
    rf"(?P<was>is|was|became|is now|remains|is still),? (?:also )?(?P<a>the |an? )?(?P<role>{_ROLE}) (?P<of>of|at)(?: the)?"
)
_APPOSITION = re.compile(rf", (?:the |an? )?(?P<role>{_ROLE}) (?:of|at)(?: the)?")
_HAS_ROLE = re.compile(rf"['’]s (?P<role>{_ROLE}) (?P<was>is|was)(?: now)?")
_IS_ROLE = re.compile(r"['’]s (?P<role>[\w-]+(?: [\w-]+)?)(?=\s*(?:[.,;!]|$)|\s+(?:and|at|in|from|since|who)\b)")
# What belongs to somebody is not that person: "uses Anna's laptop". A name may end so: "works at Macy's in Boston".
_OWNED = re.compile(
    r"['’]s\s+(?!(?:and|or|but|in|at|on|of|for|from|to|by|with|as|since|until|after|before|when|where|who|now|last|next)\b)\w"
)
# What is denied or supposed is no role either: "is not the owner of", "is probably the owner of".
_NO_ROLES = frozenset(
    [
        "not",
        "no",
        "never",
        "neither",
        "nor",
        "hardly",
        "almost",
        "nearly",
        "maybe",
        "perhaps",
        "possibly",
        "probably",
        "presumably",
        "supposedly",
        "allegedly",
        "reportedly",
        "the",
        "a",
        "an",
        "name",
        "nickname",
        "birthday",
        "email",
        "phone",
        "address",
        "age",
        "part",
        "kind",
        "sort",
        "type",
        "lot",
        "bit",
        "one",
        "some",
        "all",
        "most",
        "result",
        "end",
        "top",
        "out",
    ]
)


def link(words: str, after: str) -> Link | None:
    """How two names are related by the bare words between them, and what follows the second."""
    if not words:
        return None
    if kind := eastern.stated(words, after):
        return Link(kind, exclusive=True, people=True)
    found = _linked(words, after)
    if found is None and (less := without_fillers(words)) != words:
        found = _linked(less, after)
    return found


def _linked(words: str, after: str) -> Link | None:
    one, many = _one().fullmatch(words), _many().fullmatch(words)
    found = one or many
    if found is None:
        return _role(words, after)
    if _OWNED.match(after):
        return None
    connector = CONNECTORS[int(str(found.lastgroup)[1:])]
    if connector.after and not re.match(connector.after, after):
        return None
    return Link(
        type=connector.type,
        exclusive=connector.exclusive,
        inverse=connector.inverse,
        people=connector.people,
        open=connector.open,
        many=many is not None,
        one=one is not None,
        past=connector.past,
        ended=connector.ended,
    )


def _role(words: str, after: str) -> Link | None:
    if words in {"is", "was"} and (found := _IS_ROLE.match(after)):
        return _role_link(found["role"].casefold(), former=words == "was")
    if _OWNED.match(after):
        return None
    if found := _OF_ROLE.fullmatch(words):
        if found["of"] == "at" and not found["a"] and found["role"].split()[-1] not in roles():
            return None  # good at chess, angry at Tom
        return _role_link(found["role"], former=found["was"] == "was")
    if found := _HAS_ROLE.fullmatch(words):
        return _role_link(found["role"], former=found["was"] == "was", inverse=True)
    found = _APPOSITION.fullmatch(words)
    return _role_link(found["role"]) if found and found["role"].split()[-1] in roles() else None


def _role_link(role: str, *, former: bool = False, inverse: bool = False) -> Link | None:
    if _NO_ROLES.intersection(role.split()):
        return None
    name = re.sub(r"[\W_]+", "_", role).strip("_")
    return Link(f"{'former_' * former}{name}_of"[:50], inverse=inverse)


@cache
def _one() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<c{index}>{one.one})" for index, one in enumerate(CONNECTORS)))


@cache
def _many() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<c{index}>{one.many})" for index, one in enumerate(CONNECTORS) if one.many))
