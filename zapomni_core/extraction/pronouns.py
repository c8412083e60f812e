"""Whom `she` and `he` mean, where that is clear: the one person whom the sentence, or the one before it, begins with."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from zapomni_core.extraction.gazetteer import given_names
from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.verbs import doing

_PRONOUN = re.compile(
    r"""
    (?: ^ | [,;] \s (?: (?: and | but | и | а | но | und | y | et ) \s )? | \s (?: and | but | и | но | und | y | et ) \s )
    (?: (?: now | then | today | currently | теперь | сейчас | jetzt | heute | maintenant | ahora
        | (?: since | in | с | в | seit | depuis | en | desde ) \s \d{4} (?: \s году? | \s года )? ) ,? \s )?
    (?P<who> she | he | она | он | elle | il | ella | él ) \s
    | ^ (?P<er> er | sie ) \s
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LEFT_OUT = re.compile(r"[-*•\s]*(?:(?:Now|Currently|Ahora|Actualmente|Сейчас|Теперь),?\s)?([^\W\d_]+)\s")
_MARKS = " \t\"'“„«(*_[>-•"


def has_pronoun(text: str) -> bool:
    """Whether a sentence has a pronoun that can be a subject."""
    return _PRONOUN.search(text) is not None


def with_pronouns(
    text: str, named: Sequence[Mention], topic: Mention | None, people: AbstractSet[str] = frozenset()
) -> list[Mention]:
    """What a sentence names and, at the places of its pronouns or where it begins with a verb, whom it means.

    `topic` is whom the sentence before is about, and `people` are the keys of names that the sentence itself shows to be persons.
    """
    found = list(named)
    for place in _PRONOUN.finditer(text):
        start, end = place.span(place.lastgroup or 0)
        before = [one for one in named if one.end <= start]
        meant = _only_person(before, people) if before else topic
        if meant is not None:
            found.append(replace(meant, start=start, end=end, sure=True))
    if topic is not None and (left_out := _LEFT_OUT.match(text)) and left_out[1].casefold() in doing():
        found.append(replace(topic, start=left_out.start(1), end=left_out.start(1), sure=True))
    return sorted(found, key=lambda one: one.start) if len(found) > len(named) else found


def topic_of(text: str, named: Sequence[Mention], people: AbstractSet[str] = frozenset()) -> Mention | None:
    """The person whom a sentence begins with, if it names no other."""
    person = _only_person(named, people)
    opens = person is named[0] and not text[: named[0].start].strip(_MARKS) if named else False
    return person if opens else None


def _only_person(named: Sequence[Mention], people: AbstractSet[str]) -> Mention | None:
    found = {one.key: one for one in reversed(named) if is_person(one) or one.key in people}
    return next(iter(found.values())) if len(found) == 1 else None


def is_person(mention: Mention) -> bool:
    """Whether a name is that of a person, by its type or by its first word."""
    return mention.type == "person" or mention.key.partition(" ")[0].replace("ё", "е") in given_names()
