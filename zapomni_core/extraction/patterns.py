"""Relations that a sentence clearly states: what stands between two names says how they are related."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from zapomni_core.extraction.connectors import LONGEST
from zapomni_core.extraction.dates import Moment, moments_in
from zapomni_core.extraction.doubt import is_doubted, is_part, is_taken_back
from zapomni_core.extraction.fitting import fits
from zapomni_core.extraction.linking import Link, link
from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.periods import Place, period
from zapomni_core.extraction.pronouns import has_pronoun, with_pronouns
from zapomni_core.extraction.verbs import doing
from zapomni_core.extraction.wording import bare, continued, seam

_AND = re.compile(r"\s*,?\s+(?:and|и|und|y|e|et|sowie|&)\s+")
_COMMA = re.compile(r"\s*,\s+")
_MARKS = " \t\"'“„«(*_[>-•"
_QUESTION = ("?", "？", "؟")
_OUTSIDE = frozenset({"date"})
_AFTER = 40
_MOST = 8


@dataclass(frozen=True, slots=True)
class Stated:
    """One mention related to another."""

    subject: Mention
    link: Link
    object: Mention
    exclusive: bool
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether it is said to be so no more."""
        return self.link.ended


@dataclass(frozen=True, slots=True)
class _Clause:
    subjects: Sequence[Mention]
    link: Link
    objects: Sequence[Mention]
    start: int


def stated_in(
    text: str, mentions: Sequence[Mention], dates: Sequence[Moment], topic: Mention | None = None
) -> list[Stated]:
    """What a sentence states of what it names. Places count from its start. A question states nothing.

    `topic` is whom the sentence before it is about.
    """
    named = with_pronouns(text, [mention for mention in mentions if mention.type not in _OUTSIDE], topic)
    if len(named) < 2 or text.rstrip("\"'”») ").endswith(_QUESTION):  # noqa: PLR2004 (it takes two)
        return []
    clauses = list(_clauses(text, named))
    people = {one.key for clause in clauses if clause.link.people for one in clause.subjects}
    if people and has_pronoun(text) and len(again := with_pronouns(text, named, None, people)) > len(named):
        clauses = list(_clauses(text, again))
    moments = moments_in(text, dates) if clauses else []
    first = min((one.start for one in named if one.sure), default=len(text))
    found: list[Stated] = []
    for at, clause in enumerate(clauses):
        after = clauses[at + 1].start if at + 1 < len(clauses) else None
        place = Place(text, clause.start, clause.objects[-1].end, after, at == 0, first)
        found += _stated(clause, *period(place, moments))
    return found


def _clauses(text: str, named: Sequence[Mention]) -> Iterator[_Clause]:
    links = [_link(text, named, at) for at in range(len(named) - 1)]
    last: _Clause | None = None
    for at, found in enumerate(links):
        clause = _clause(text, named, links, at) if found else _continued(text, named, links, at, last)
        if clause is not None:
            last = clause
            yield clause


def _clause(text: str, named: Sequence[Mention], links: Sequence[Link | None], at: int) -> _Clause | None:
    found = links[at]
    if found is None:
        return None
    subjects = _subjects(text, named, at) if found.many else named[at : at + 1]
    start = subjects[0].start
    if (found.many and not found.one and len(subjects) == 1) or is_doubted(text, start):
        return None
    if is_part(text, start, subjects[-1].end):
        return None
    return _whole(text, subjects, found, _objects(text, named, links, at + 1 + found.past), start)


def _continued(
    text: str, named: Sequence[Mention], links: Sequence[Link | None], at: int, last: _Clause | None
) -> _Clause | None:
    """A second thing that is said of the same subject: `Anna works at Acme and lives in Berlin`."""
    first, second = named[at], named[at + 1]
    if second.start - first.end > LONGEST or is_doubted(text, first.start):
        return None
    between = text[first.end : second.start]
    said = continued(bare(between))
    if said is None or not (subjects := _same_subjects(text, named, at, last, said[0])):
        return None
    found = link(said[1], text[second.end : second.end + _AFTER])
    if found is None or (found.many and not found.one) or found.inverse:
        return None
    objects = _objects(text, named, links, at + 1 + found.past)
    return _whole(text, subjects, found, objects, first.end + seam(between))


def _same_subjects(
    text: str, named: Sequence[Mention], at: int, last: _Clause | None, head: str
) -> Sequence[Mention] | None:
    """Those of the clause that ends here, else whom the sentence begins with, if a verb follows."""
    if last is not None:
        return last.subjects if last.objects[-1] is named[at] and not head else None
    opens = not text[: named[0].start].strip(_MARKS)
    verb = text[named[0].end : named[0].end + _AFTER].split(maxsplit=1)[:1]
    return named[:1] if opens and (at == 0 or not head) and verb and verb[0].casefold() in doing() else None


def _whole(
    text: str, subjects: Sequence[Mention], found: Link, objects: Sequence[Mention], start: int
) -> _Clause | None:
    if not objects or is_taken_back(text, objects[-1].end) or not fits(found, subjects, objects):
        return None
    is_known = found.open or all(thing.sure for thing in objects)
    return _Clause(subjects, found, objects, start) if is_known else None


def _link(text: str, named: Sequence[Mention], at: int) -> Link | None:
    first, second = named[at], named[at + 1]
    if second.start - first.end > LONGEST:
        return None
    between, after = text[first.end : second.start], text[second.end : second.end + _AFTER]
    if _is_put_in(text, named, at + 1):
        return Link("also_known_as")
    if _is_put_in(text, named, at):
        between = between.removeprefix(")")
    return link(bare(between), after)


def _is_put_in(text: str, named: Sequence[Mention], at: int) -> bool:
    """Whether a name only stands in brackets after the one that it is short for."""
    if at == 0:
        return False
    before, short = named[at - 1], named[at]
    in_brackets = text[before.end : short.start].strip() == "(" and text.startswith(")", short.end)
    return in_brackets and _is_short_for(short.name, before.name)


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


def _stated(clause: _Clause, since: datetime | None, until: datetime | None) -> Iterator[Stated]:
    exclusive = clause.link.exclusive and len(clause.objects) == 1
    if clause.link.ended:
        since, until = None, until or since
    for subject in clause.subjects:
        for thing in clause.objects:
            first, second = (thing, subject) if clause.link.inverse else (subject, thing)
            yield Stated(first, clause.link, second, exclusive, since, until)
