"""How long and how often the language model is tried."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one question, and of the patience with a provider that fails."""

    total_seconds: float = 60.0
    connect_seconds: float = 5.0
    retries: int = 2
    backoff_seconds: float = 0.5
    longest_backoff_seconds: float = 8.0
    # Somebody may be waiting for the answer: what takes longer to pass is told, and is for whoever can wait.
    waiting_seconds: float = 5.0
    open_after_failures: int = 5
    open_seconds: float = 30.0
    # A provider that says "in a year" by mistake must not switch the language model off until the next start.
    longest_open_seconds: float = 3600.0

    def backoff(self, attempt: int) -> float:
        """The longest wait before the attempt after this one, counted from 0."""
        return min(self.backoff_seconds * 2.0**attempt, self.longest_backoff_seconds)
