"""A place where a text names something, and what makes two such names equal."""

from dataclasses import dataclass, field
from functools import lru_cache

from zapomni_db.names import key_of


@dataclass(frozen=True, slots=True)
class Mention:
    """Something named from `start` to `end`. One that is not `sure` counts only where other places speak for it.

    One that is `likely` speaks for itself where it comes again.
    """

    start: int
    end: int
    name: str
    type: str
    sure: bool = True
    likely: bool = False
    key: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", name_key(self.name))


name_key = lru_cache(maxsize=16_384)(key_of)
"""What a name is compared by."""
