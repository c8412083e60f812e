"""Since when and until when a clause holds: by the dates that stand beside it, and not by those of what else a sentence tells."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from zapomni_core.extraction.dates import Moment

# What stands between a clause and a date where the date is of something else.
_ELSEWHERE = re.compile(
    r"""
    [,;:–—] \s*+ (?! (?: since | from | in | on | until | till | seit | ab | im | am | bis | с | со | в | до | desde | hasta | en | el | depuis
                  | jusqu['’]en | le )? \s* $ )
    | \b (?: and | but | or | who | whom | which | that | when | because | while | i | we | he | she | they | you
        | и | а | но | что | котор\w+ | я | мы | он | она | они | und | aber | oder | dass | weil | ich | wir | er | sie
        | y | pero | que | et | mais | qui | je | nous | il | elle ) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:\s(?:года|году|г\.))?[\s,:)\]–—-]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a clause stands in its sentence: from `start` to `end`, before the `next` one; `named` is where the first name stands."""

    text: str
    start: int
    end: int
    next: int | None
    is_first: bool
    named: int


def period(place: Place, moments: Sequence[Moment]) -> tuple[datetime | None, datetime | None]:
    """Since when and until when a clause holds, if that is clear."""
    near = [one for one in moments if _may_be_of(place, one)]
    then = [one for one in near if one.side == "at"]
    close = _close(place, near)
    since = [one.date for one in close if one.side == "since"]
    until = [one.date for one in close if one.side == "until"]
    begun = since[0] if since else then[0].date if len(then) == 1 and then[0] in close else None
    ended = until[0] if until and (begun is None or begun < until[0]) else None
    return begun, ended


def _may_be_of(place: Place, moment: Moment) -> bool:
    """Whether no other clause stands between. Between two clauses, only `since` and `until` look back for certain."""
    if moment.start < place.start:
        return place.is_first
    return place.next is None or (moment.start < place.next and moment.side != "at")


def _close(place: Place, moments: Sequence[Moment]) -> list[Moment]:
    """Those that stand beside the clause, one after the other."""
    found, end = [], place.end
    for one in moments:
        if one.start < place.start:
            is_close = one.start < place.named and _BEFORE.fullmatch(place.text, one.end, place.start) is not None
        else:
            is_close = one.start < end or _ELSEWHERE.search(place.text[end : one.start]) is None
            end = max(end, one.end) if is_close else end
        if is_close:
            found.append(one)
    return found
