"""Reads a text by rules: first everything it names, then what it states of that, then what it only mentions together."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations, islice, pairwise

from zapomni_core.extraction.code import read_code
from zapomni_core.extraction.collecting import MOST_MENTIONS, Collection
from zapomni_core.extraction.dates import Moment
from zapomni_core.extraction.endings import current, settled
from zapomni_core.extraction.linking import Link
from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.mentions import mentions_in
from zapomni_core.extraction.patterns import Stated, stated_in
from zapomni_core.extraction.pronouns import topic_of
from zapomni_core.extraction.russian import is_russian, merged
from zapomni_core.extraction.scene import is_german
from zapomni_core.extraction.sentences import Sentence, sentences_of
from zapomni_db.records import MENTIONED_WITH, Extraction

NAME = "rules"
MOST_TOGETHER = 8
"""Entities of a sentence of which every pair is related; of more, only those that stand next to each other."""
LONGEST_QUOTE = 300
_ENOUGH = 4000
"""Characters that tell whether a text is German."""
_BESIDE = frozenset({"date", "url", "tag"})
"""Types that say something of a name, but nothing of each other."""


class StoppedError(Exception):
    """Nobody waits for the result any more."""


@dataclass(slots=True)
class _Part:
    """A sentence with what it names and what it states, in places that count from its start."""

    sentence: Sentence
    mentions: list[Mention]
    dates: list[Moment] = field(default_factory=list)
    stated: list[Stated] = field(default_factory=list)

    def quote(self, first: int, last: int) -> tuple[int, int]:
        """The place of the sentence in the text; where that is long or code, of what stands from `first` to `last`."""
        start = self.sentence.start
        whole = not self.sentence.code and len(self.sentence.text) <= LONGEST_QUOTE
        return (start, self.sentence.end) if whole else (start + first, start + last)


def read(text: str, is_stopped: Callable[[], bool] = lambda: False, moment: datetime | None = None) -> Extraction:
    """What a text names and says, in time that grows with its length. Asks between sentences whether to stop.

    What the text says to be so no more ended at `moment`, unless it says when.
    """
    collection = Collection(NAME)
    parts = list(_attentive(_scanned(text), is_stopped))
    _merge_cases(parts)
    known = {mention.key for part in parts for mention in part.mentions if mention.sure}
    known |= _repeated(text, parts)
    topic: Mention | None = None
    for part in _attentive(parts, is_stopped):
        topic = _state(part, known, topic)
    _settle(parts, moment)
    known |= {mention.key for part in parts for one in part.stated for mention in (one.subject, one.object)}
    for part in _attentive(parts, is_stopped):
        _collect(collection, part, known)
    for part in _attentive(parts, is_stopped):
        _relate_mentioned(collection, part)
    return collection.extraction()


def _attentive(parts: Iterable[_Part], is_stopped: Callable[[], bool]) -> Iterator[_Part]:
    for part in parts:
        if is_stopped():
            raise StoppedError
        yield part


def _scanned(text: str) -> Iterator[_Part]:
    """The sentences that name something, up to where the text has named enough."""
    left, german = MOST_MENTIONS, is_german(text[:_ENOUGH])
    for sentence in sentences_of(text):
        part = _scan_code(sentence, left) if sentence.code else _scan(sentence, german=german)
        left -= len(part.mentions)
        yield part
        if left <= 0:
            break


def _scan(sentence: Sentence, *, german: bool) -> _Part:
    return _Part(sentence, *mentions_in(sentence.text, heading=sentence.heading, german=german))


def _merge_cases(parts: Iterable[_Part]) -> None:
    """Call a Russian name the same in all its cases."""
    names = {one.name for part in parts for one in part.mentions if is_russian(one.name) and " " not in one.name}
    if main := merged(names):
        for part in parts:
            part.mentions = [replace(one, name=main.get(one.name, one.name)) for one in part.mentions]


def _repeated(text: str, parts: Iterable[_Part]) -> set[str]:
    """Words that open sentences as names do, more than once, and that the text never has in small letters."""
    unsure = [one for part in parts for one in part.mentions if not one.sure and not part.sentence.heading]
    count = Counter(one.key for one in unsure)
    likely = {one.key for one in unsure if one.likely and count[one.key] > 1}
    return {key for key in likely if not re.search(rf"\b{re.escape(key)}\b", text)}


def _scan_code(sentence: Sentence, most: int) -> _Part:
    part = _Part(sentence, [])
    for mention, kind, other in islice(read_code(sentence.text), most):
        part.mentions += [mention, other] if other else [mention]
        if other:
            part.stated.append(Stated(mention, Link(kind), other, exclusive=False))
    return part


def _state(part: _Part, known: set[str], topic: Mention | None) -> Mention | None:
    """Find what a sentence states, and whom it is about. A name that is sure anywhere in the text is sure here."""
    if part.sentence.code:
        return None
    part.mentions = [replace(one, sure=True) if not one.sure and one.key in known else one for one in part.mentions]
    part.stated = stated_in(part.sentence.text, part.mentions, part.dates, topic)
    about = topic_of(part.sentence.text, part.mentions, {one.subject.key for one in part.stated if one.link.people})
    if about is None and topic and any(one.subject.key == topic.key for one in part.stated):
        return topic
    return about


def _settle(parts: Iterable[_Part], moment: datetime | None) -> None:
    """Say of what has ended when, or that it is past."""
    followed = current(one for part in parts for one in part.stated)
    for part in parts:
        part.stated = list(settled(part.stated, moment, followed))


def _collect(collection: Collection, part: _Part, known: set[str]) -> None:
    part.mentions = [mention for mention in part.mentions if mention.key in known]
    for mention in part.mentions:
        collection.add(mention, part.sentence.start)
    for one in part.stated:
        if one.link.people:
            collection.type(one.subject.key, "person")
        first, last = sorted([one.subject, one.object], key=lambda mention: mention.start)
        collection.relate(
            one.subject.key,
            one.link.type,
            one.object.key,
            part.quote(first.start, last.end),
            basis="extracted",
            exclusive=one.exclusive,
            valid_from=one.valid_from,
            valid_until=one.valid_until,
        )


def _relate_mentioned(collection: Collection, part: _Part) -> None:
    """Relate what one sentence names and no pattern relates. Code has no sentences."""
    named = [] if part.sentence.code else list({one.key: one for one in reversed(part.mentions)}.values())[::-1]
    for one, other in combinations(named, 2) if len(named) <= MOST_TOGETHER else pairwise(named):
        if {one.type, other.type} <= _BESIDE or collection.are_related(one.key, other.key):
            continue
        collection.relate(one.key, MENTIONED_WITH, other.key, part.quote(one.start, other.end), basis="mention")
