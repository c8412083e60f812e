"""When relations were true, told from what memories say of them. The order in which memories came does not count.

Moments are microseconds since 1970. A statement that does not say since when counts from the moment of its memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

ALWAYS = -(1 << 62)  # before every moment


class Statement(NamedTuple):
    """A memory says a relation; `memory` and `place` settle what comes later where moments are the same."""

    relation: int
    valid_from: int | None
    valid_until: int | None
    timestamp: int | None
    learned_at: int
    memory: int
    place: int

    @property
    def said(self) -> int:
        """The moment of its memory."""
        return self.learned_at if self.timestamp is None else self.timestamp

    @property
    def tells_only_an_end(self) -> bool:
        """Whether it says until when, and not since when."""
        return self.valid_from is None and self.valid_until is not None

    @property
    def begin(self) -> int:
        """Where it belongs in time. What ended before it was told belongs to its end."""
        if self.valid_from is not None:
            return self.valid_from
        return self.said if self.valid_until is None else min(self.said, self.valid_until)


@dataclass(frozen=True, slots=True)
class Period:
    """A time in which a relation was true. `begin` is for questions; `valid_from` is None where nobody said it."""

    relation: int
    begin: int
    valid_from: int | None
    valid_until: int | None
    learned_at: int
    superseded_by: int | None = None
    superseded_at: int | None = None


def timeline(statements: Iterable[Statement]) -> list[Period]:
    """The periods of relations of which one is true at a time, in order; each other one supersedes those before it.

    For a relation that excludes no other, ask with its statements alone.
    """
    ordered = sorted(statements, key=lambda one: (one.begin, one.said, one.memory, one.place))
    found: list[tuple[int, Period]] = []  # with the moment where each belongs in time
    for statement in ordered:
        at = _spoken_of([period for _, period in found], statement)
        if at is None:
            found.append((statement.begin, _period(statement)))
        else:
            found[at] = found[at][0], _joined(found[at][1], statement)
    return _ended(found)


def _spoken_of(periods: list[Period], statement: Statement) -> int | None:
    """Which of the periods so far a statement speaks of; one that tells only an end may speak of one before the last."""
    last = len(periods) - 1
    candidates = range(last, -1, -1) if statement.tells_only_an_end else range(last, last - 1, -1)
    return next((at for at in candidates if at >= 0 and _continues(periods[at], statement)), None)


def _period(statement: Statement) -> Period:
    return Period(
        statement.relation,
        ALWAYS if statement.tells_only_an_end else statement.begin,
        _since(statement),
        statement.valid_until,
        statement.learned_at,
    )


def _since(statement: Statement) -> int | None:
    """Since when it is known to be true: as said, else the moment that the memory was given."""
    if statement.valid_from is not None or statement.valid_until is not None:
        return statement.valid_from
    return statement.timestamp


def _continues(period: Period, statement: Statement) -> bool:
    """Whether a statement speaks of a period that is there; it does not begin before it."""
    if period.relation != statement.relation:
        return False
    until = period.valid_until
    return until is None or statement.begin < until or statement.valid_until == until


def _joined(period: Period, statement: Statement) -> Period:
    until = period.valid_until if statement.valid_until is None else statement.valid_until
    since = _since(statement) if period.valid_from is None and period.begin != ALWAYS else period.valid_from
    return replace(period, valid_from=since, valid_until=until, learned_at=min(period.learned_at, statement.learned_at))


def _ended(found: list[tuple[int, Period]]) -> list[Period]:
    """Each period ends at the latest where that of another relation begins."""
    periods: list[Period] = []
    begin: int = 0
    later: Period | None = None
    for index in range(len(found) - 1, -1, -1):
        period = found[index][1]
        if index + 1 < len(found) and found[index + 1][1].relation != period.relation:
            begin, later = found[index + 1]
        periods.append(_superseded(period, begin, later) if later else period)
    return periods[::-1]


def _superseded(period: Period, begin: int, later: Period) -> Period:
    return replace(
        period,
        valid_until=begin if period.valid_until is None else min(begin, period.valid_until),
        superseded_by=later.relation,
        superseded_at=max(period.learned_at, later.learned_at),
    )
