"""How far a chunk reaches back into the one before it, so that a thought that was cut in two is found from either side."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from zapomni_core.chunking.graphemes import is_joined
from zapomni_core.chunking.layout import SENTENCES, WORDS, Break

_STEP = 8
_LONGEST_TOKEN = 8
"""Characters of a token for which it is worth looking back."""


def overlap_start(text: str, lowest: int, fresh: int, tokens: Callable[[str], int], most: int) -> int:
    """Where the overlap before `fresh` begins: at a sentence if that gives enough, else at a word, else anywhere.

    It costs at most `most` tokens and begins at `lowest` at the earliest, which must be the beginning of something.
    """
    earliest = max(lowest, fresh - most * _LONGEST_TOKEN)

    def cost(at: int) -> int:
        return tokens(text[at:fresh].strip())

    for places in (
        _ends(SENTENCES, text, earliest, fresh),
        _ends(WORDS, text, earliest, fresh),
        _steps(earliest, fresh),
    ):
        fit = [at for at in places if not is_joined(text, at)]
        candidates = [lowest, *fit] if earliest == lowest else fit
        index = bisect_left(candidates, True, key=lambda at: cost(at) <= most)
        if index < len(candidates) and cost(candidates[index]) > most // 3:
            return candidates[index]
    return fresh


def _ends(kind: Break, text: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in kind.pattern.finditer(text, start, end) if start < match.end() < end)


def _steps(start: int, end: int) -> Iterable[int]:
    return range(start + _STEP, end, _STEP)
