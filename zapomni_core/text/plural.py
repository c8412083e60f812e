"""Numbers with their nouns. Imports nothing, because every command needs it."""


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 chunk`, `2 chunks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
