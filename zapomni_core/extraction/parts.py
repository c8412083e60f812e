"""Parts of a long text that a language model reads one at a time: they end where a sentence does, if one ends in time."""

from collections.abc import Iterator

from zapomni_core.extraction.sentences import sentences_of

LONGEST = 6000
"""Characters of a part."""


def parts_of(text: str, longest: int = LONGEST) -> Iterator[tuple[int, int]]:
    """Where each part starts and ends. Together they are everything but white space; none is blank or too long."""
    start = end = 0
    for sentence in sentences_of(text):
        if end > start and sentence.end - start > longest:
            yield start, end
            start = sentence.start
        start = sentence.start if end <= start else start
        while sentence.end - start > longest:  # code can be longer than a part
            yield start, start + longest
            start += longest
        end = sentence.end
    if end > start:
        yield start, end
