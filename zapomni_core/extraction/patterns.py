"""Relations that a sentence clearly states: what stands between two names says how they are related."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from zapomni_core.extraction import connectors
from zapomni_core.extraction.connectors import Link, link
from zapomni_core.extraction.dates import Moment, moments_in
from zapomni_core.extraction.mention import Mention

_AND = re.compile(r"\s*,?\s+(?:and|и|und|y|e|et|sowie|&)\s+")
_COMMA = re.compile(r"\s*,\s+")
_DOUBT = re.compile(
    r"\b(?:if|whether|unless|maybe|perhaps|would|not|если|ли|возможно|может|не|wenn|falls|ob|vielleicht|nicht|quizás|peut-être)\b",
    re.IGNORECASE,
)
_QUESTION = ("?", "？", "؟")
_OUTSIDE = frozenset({"date"})
_AFTER = 40
_MOST = 8
_LOOK_BACK = 100


@dataclass(frozen=True, slots=True)
class Stated:
    """One mention related to another."""

    subject: Mention
    link: Link
    object: Mention
    exclusive: bool
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Clause:
    subjects: Sequence[Mention]
    link: Link
    objects: Sequence[Mention]


def stated_in(text: str, mentions: Sequence[Mention], dates: Sequence[Moment]) -> list[Stated]:
    """What a sentence states of what it names. Places count from its start. A question states nothing."""
    named = [mention for mention in mentions if mention.type not in _OUTSIDE]
    if len(named) < 2 or text.rstrip("\"'”») ").endswith(_QUESTION):  # noqa: PLR2004 (it takes two)
        return []
    clauses = list(_clauses(text, named))
    moments = moments_in(text, dates) if clauses else []
    found: list[Stated] = []
    for at, clause in enumerate(clauses):
        found += _stated(clause, [one for one in moments if _is_of(one, at, clauses)])
    return found


def _is_of(moment: Moment, at: int, clauses: Sequence[_Clause]) -> bool:
    """Whether a date belongs to a clause. Between two clauses, only `since` and `until` look back for certain."""
    if moment.start < clauses[at].subjects[0].start:
        return at == 0
    if at + 1 == len(clauses):
        return True
    return moment.start < clauses[at + 1].subjects[0].start and moment.side != "at"


def _clauses(text: str, named: Sequence[Mention]) -> Iterator[_Clause]:
    links = [_link(text, named, at) for at in range(len(named) - 1)]
    for at, found in enumerate(links):
        if found is None or _DOUBT.search(text, max(0, named[at].start - _LOOK_BACK), named[at].start):
            continue
        subjects = _subjects(text, named, at) if found.many else named[at : at + 1]
        if found.many and len(subjects) == 1:
            continue
        clause = _Clause(subjects, found, _objects(text, named, links, at + 1 + found.past))
        if clause.objects and (found.open or all(thing.sure for thing in clause.objects)):
            yield clause


def _link(text: str, named: Sequence[Mention], at: int) -> Link | None:
    first, second = named[at], named[at + 1]
    if second.start - first.end > connectors.LONGEST:
        return None
    between, after = text[first.end : second.start], text[second.end : second.end + _AFTER]
    if between.strip() == "(" and after.startswith(")") and _is_short_for(second.name, first.name):
        return Link("also_known_as")
    return link(between, after)


def _is_short_for(short: str, name: str) -> bool:
    """Whether a name consists of the first letters of another: WHO, World Health Organization."""
    return short.isupper() and short == "".join(word[0] for word in name.split() if word[0].isupper())


def _subjects(text: str, named: Sequence[Mention], at: int) -> Sequence[Mention]:
    """`A and B`; `A, B and C` only where a sentence begins with it: else the first may belong to what went before."""
    first = at
    while first > 0 and at - first < _MOST and _AND.fullmatch(text, named[first - 1].end, named[first].start):
        first -= 1
    listed = first
    while (
        first < at
        and listed > 0
        and at - listed < _MOST
        and _COMMA.fullmatch(text, named[listed - 1].end, named[listed].start)
    ):
        listed -= 1
    return named[listed if not text[: named[listed].start].strip() else first : at + 1]


def _objects(text: str, named: Sequence[Mention], links: Sequence[Link | None], at: int) -> Sequence[Mention]:
    """`A`; `A and B` and `A, B and C`, unless the last one is what the next clause is about."""
    last, ended = at, at
    while last + 1 < len(named) and last - at < _MOST:
        joint = named[last].end, named[last + 1].start
        is_last = _AND.fullmatch(text, *joint) is not None
        if not is_last and not _COMMA.fullmatch(text, *joint):
            break
        last += 1
        ended = last if is_last else ended
    while ended > at and ended < len(links) and links[ended] is not None:
        ended -= 1
    return named[at : ended + 1]


def _stated(clause: _Clause, moments: Sequence[Moment]) -> Iterator[Stated]:
    since, until = _period(moments)
    found = clause.link
    exclusive = found.exclusive and len(clause.objects) == 1
    for subject in clause.subjects:
        for thing in clause.objects:
            first, second = (thing, subject) if found.inverse else (subject, thing)
            yield Stated(first, found, second, exclusive, since, until)


def _period(moments: Sequence[Moment]) -> tuple[datetime | None, datetime | None]:
    """Since when and until when it holds, if that is clear."""
    since = [one.date for one in moments if one.side == "since"]
    until = [one.date for one in moments if one.side == "until"]
    then = [one.date for one in moments if one.side == "at"]
    begun = since[0] if since else then[0] if len(then) == 1 else None
    ended = until[0] if until and (begun is None or begun < until[0]) else None
    return begun, ended
