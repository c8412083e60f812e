"""Work of one kind that is done together: a statement for many rows costs less than as many statements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeVar

import apsw

New = TypeVar("New")
T = TypeVar("T")

Work = Callable[[apsw.Connection], T]


@dataclass(frozen=True, slots=True)
class Joint(Generic[New, T]):
    """Work that is one of many: `do_all` does some of them, in their order."""

    do_all: Callable[[apsw.Connection, Sequence[New]], list[T]]
    new: New

    def __call__(self, connection: apsw.Connection) -> T:
        """Do it alone."""
        return self.do_all(connection, [self.new])[0]


def do(connection: apsw.Connection, works: Sequence[Work[Any]]) -> list[Any]:
    """What comes of each work, done in this order; those of one kind that follow each other are done together."""
    answers: list[Any] = []
    for do_all, alike in groupby(works, _do_all):
        if do_all:
            answers += do_all(connection, [work.new for work in alike if isinstance(work, Joint)])
        else:
            answers += [work(connection) for work in alike]
    return answers


def _do_all(work: Work[Any]) -> Callable[[apsw.Connection, Sequence[Any]], list[Any]] | None:
    return work.do_all if isinstance(work, Joint) else None
