"""When relations were true, computed from the live statements about them. Pure: every store uses it.

Moments are microseconds since 1970. Statements are the only truth and are never changed; periods are computed again whenever
a memory comes or goes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

ALWAYS = -(1 << 62)  # before every moment: the begin of a period of which only the end is known


class Statement(NamedTuple):
    """A live memory states a relation.

    `stated_at` is the moment of an agent's call, None for what an extractor read. `number` orders the statements of one
    memory.
    """

    relation: int
    since: int | None
    until: int | None
    timestamp: int | None
    created_at: int
    memory: int
    number: int
    stated_at: int | None = None
    replaces: bool = False

    @property
    def moment(self) -> int:
        """When its memory was true: its timestamp, else when it was stated."""
        if self.timestamp is not None:
            return self.timestamp
        return self.created_at if self.stated_at is None else self.stated_at

    @property
    def is_only_an_end(self) -> bool:
        """Whether it says until when and not since when."""
        return self.since is None and self.until is not None

    @property
    def begin(self) -> int:
        """The place in time."""
        if self.since is not None:
            return self.since
        return self.moment if self.until is None else min(self.moment, self.until)

    @property
    def known_since(self) -> int | None:
        """Since when the relation is known to be true: as said, else the timestamp of the memory."""
        return self.since if self.since is not None or self.until is not None else self.timestamp

    @property
    def applies_at(self) -> int:
        """Its place in the order: extracted ones as things happened, stated ones as they were stated."""
        return self.begin if self.stated_at is None else self.stated_at


@dataclass(slots=True)
class Period:
    """A time in which a relation was true. `begin` is for questions; `since` is None where it is not known.

    `ended_by` is the memory whose statement ended it by `replaces`. `is_dated`: a statement gave the `since` itself.
    """

    relation: int
    begin: int
    since: int | None
    until: int | None
    is_dated: bool
    ended_by: int | None = None

    def end(self, until: int, ended_by: int | None = None) -> None:
        """Let it end. A begin that was only guessed, and would not come before the end, is unknown."""
        if not self.is_dated and self.begin >= until:
            self.begin, self.since = ALWAYS, None
        self.until, self.ended_by = until, ended_by


def timeline(statements: Iterable[Statement]) -> list[Period]:
    """The periods of relations that may replace each other, those of one relation in the order of time.

    The order of the statements does not count.
    """
    periods: dict[int, list[Period]] = {}
    open_ones: set[int] = set()
    for statement in sorted(statements, key=_order):
        _apply(periods.setdefault(statement.relation, []), statement)
        if statement.replaces:
            for relation in open_ones - {statement.relation}:
                _replace(periods[relation], statement)
            open_ones.clear()  # a period that is over stays so: statements come in order
        open_ones.add(statement.relation)
    return [period for own in periods.values() for period in own]


def _order(one: Statement) -> tuple[int, ...]:
    return one.applies_at, one.replaces, one.begin, one.moment, one.memory, one.number


def _apply(periods: list[Period], statement: Statement) -> None:
    """Change the periods of a relation as a statement about it says."""
    at = next((at for at, period in enumerate(periods) if _speaks_of(statement, period)), None)
    if at is None and statement.is_only_an_end and periods:
        at = len(periods) - 1  # another end of what was over
    if at is None:
        periods.append(_period(statement))
    elif _is_earlier(statement, periods[at]):
        periods.insert(at, _period(statement))
    else:
        _join(periods[at], statement)


def _speaks_of(statement: Statement, period: Period) -> bool:
    """Whether a period had not ended when the statement begins, or ends with it."""
    return period.until is None or statement.begin < period.until or statement.until == period.until


def _is_earlier(statement: Statement, period: Period) -> bool:
    """Whether a statement is over before the period begins, so that it speaks of a time of its own."""
    if statement.until is None or period.since is None:
        return False
    return statement.until <= period.since and (period.is_dated or statement.since is not None)


def _period(statement: Statement) -> Period:
    begin = ALWAYS if statement.is_only_an_end else statement.begin
    return Period(statement.relation, begin, statement.known_since, statement.until, statement.since is not None)


def _join(period: Period, statement: Statement) -> None:
    since = statement.known_since
    if since is not None and not period.is_dated:
        is_dated = statement.since is not None
        if since < period.begin or (is_dated and period.since is None):
            period.begin = period.since = since
            period.is_dated = is_dated
    if statement.until is not None:
        period.end(statement.until)


def _replace(periods: list[Period], statement: Statement) -> None:
    """End what is open when a statement that replaces it applies, at the latest where its own time begins."""
    begin = statement.moment if statement.since is None else statement.since
    for period in periods:
        if period.until is None or period.until > statement.applies_at:
            end = max(begin, period.begin) if period.is_dated else begin
            if period.until is None or end < period.until:
                period.end(end, statement.memory)
