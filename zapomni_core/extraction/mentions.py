"""Everything that a sentence names."""

import re
from collections.abc import Callable, Iterable

from zapomni_core.extraction.dates import Moment, dates_in
from zapomni_core.extraction.finders import finders
from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.names import names_in, run
from zapomni_core.extraction.scene import Scene

_MASK = "\0"
LONGEST_NAME = 500
"""Characters of a name. What is longer is data."""


def mentions_in(text: str, *, heading: bool = False, german: bool = False) -> tuple[list[Mention], list[Moment]]:
    """What a sentence names, in its order, no two places overlapping, and the dates among it. `german` is what the whole text is."""
    dates = dates_in(text)
    reader = _Reader(text)
    for date in dates:
        reader.take(Mention(date.start, date.end, date.name, "date"))
    for finder in finders():
        if finder.may_find(reader.rest):
            reader.read(finder.pattern, finder.read)
    scene = Scene(text, heading, german)
    reader.read(run(), lambda found: names_in(found, scene))
    return sorted(reader.found, key=lambda mention: mention.start), dates


class _Reader:
    """Collects mentions. What one pattern has taken is masked for the next ones."""

    def __init__(self, text: str) -> None:
        self.rest = text
        self.found: list[Mention] = []

    def take(self, mention: Mention) -> None:
        """Keep a mention."""
        self.found.append(mention)
        self.rest = self.rest[: mention.start] + _MASK * (mention.end - mention.start) + self.rest[mention.end :]

    def read(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], Iterable[Mention]]) -> None:
        """Keep what every match of a pattern names."""

        def masked(found: re.Match[str]) -> str:
            part, offset = found[0], found.start()
            for mention in filter(_can_be_kept, read(found)):
                self.found.append(mention)
                first, last = mention.start - offset, mention.end - offset
                part = part[:first] + _MASK * (last - first) + part[last:]
            return part

        self.rest = pattern.sub(masked, self.rest)


def _can_be_kept(mention: Mention) -> bool:
    """Whether a name can be written and shown: it has neither control characters nor halves of surrogate pairs."""
    return len(mention.name) <= LONGEST_NAME and mention.name.isprintable() and bool(mention.key)
