"""What became of facts that a text says to have ended: they get an end, or are told as past where the text says what came after."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from zapomni_core.extraction.patterns import Stated

_FORMER = {"works_at": "worked_at", "lives_in": "lived_in"}


def settled(stated: Iterable[Stated], moment: datetime | None, followed: set[tuple[str, str]]) -> Iterator[Stated]:
    """The same facts, those that ended with their end: as the sentence dates it, else at the moment of the text.

    `followed` are the subjects and types of what is so now. What was so before it is a fact of its own, as it is where
    nobody knows the moment: a later fact ends an earlier one by itself.
    """
    for one in stated:
        until = one.valid_until or moment
        if not one.ended:
            yield one
        elif until is None or (one.subject.key, one.link.type) in followed:
            yield replace(one, link=replace(one.link, type=_FORMER[one.link.type]), exclusive=False)
        else:
            yield replace(one, valid_until=until, exclusive=False)  # what ends takes the place of nothing


def current(stated: Iterable[Stated]) -> set[tuple[str, str]]:
    """The subjects and types of what is so now."""
    return {(one.subject.key, one.link.type) for one in stated if one.exclusive and not one.ended}
