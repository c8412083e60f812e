"""Numbers with their nouns. Imports nothing heavy, because every command needs it."""

import math


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 chunk`, `2 chunks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def waiting(seconds: float) -> str:
    """A waiting time in whole seconds: `1 second`, `3000 seconds`."""
    whole = math.ceil(seconds)
    return f"{whole} second" if whole == 1 else f"{whole} seconds"
