"""One operation as telemetry sees it: its attributes, and how its time was shared among its parts."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol, Self


class Span(Protocol):
    """An operation that is under way. Attributes are counts, lengths, kinds and ids; never text, a path or a key."""

    def set(self, **attributes: Any) -> None:
        """Tell more of the operation."""
        ...


class Untold:
    """The span of an operation that nobody asked about: it takes everything and keeps nothing."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        return None

    def set(self, **attributes: Any) -> None: ...


UNTOLD = Untold()


class ToldSpan:
    """The span of an operation that is told of, with the milliseconds of its parts when it ends."""

    def __init__(self, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._tell = tell
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def set(self, **attributes: Any) -> None:
        self._tell(attributes)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Count what happens inside to one part of the operation."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[part] += time.perf_counter() - started

    def end(self) -> None:
        """Tell what the parts took."""
        self._tell({f"{part}_ms": round(seconds * 1000, 3) for part, seconds in self._seconds.items()})


current_span: ContextVar[ToldSpan | None] = ContextVar("zapomni_span", default=None)


def timed(part: str) -> AbstractContextManager[Any]:
    """Count what happens inside to one part of the current span: `timed("embedding")` adds to its `embedding_ms`."""
    span = current_span.get()
    return UNTOLD if span is None else span.timed(part)
