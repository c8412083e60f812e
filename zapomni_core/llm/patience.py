"""How long whoever asks is ready to wait for the answer to one question: less while a person waits than in a job."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_patience: ContextVar[float | None] = ContextVar("zapomni_patience", default=None)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Within this, no question to a language model takes longer; extractors need not know of it."""
    before = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(before)


def patience_within(seconds: float) -> float:
    """The time for one question: this, or less where whoever asks has less."""
    wanted = _patience.get()
    return seconds if wanted is None else min(wanted, seconds)
