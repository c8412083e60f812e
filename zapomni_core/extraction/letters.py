"""Which letters there are, for use between the brackets of a pattern: those of scripts with capitals, and all others."""

from collections.abc import Callable
from functools import cache
from itertools import groupby

_WITH_CAPITALS = ((0x41, 0x24F), (0x370, 0x52F), (0x531, 0x587), (0x1E00, 0x1FFF))
_MARKS = "\u0300-\u036f"

WITHOUT_CAPITALS = "\u0590-\u08ff\u0900-\u0fff\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff가-힣"
"""Hebrew, Arabic, the scripts of India, Thai, Lao, Khmer, kana, Han, Hangul."""


@cache
def upper() -> str:
    """Capital letters."""
    return _class(str.isupper)


@cache
def lower() -> str:
    """Small letters, and the marks that stand above letters."""
    return _class(str.islower) + _MARKS


@cache
def cased() -> str:
    """Letters of scripts with capitals, and the marks that stand above them."""
    return upper() + lower()


def _class(wanted: Callable[[str], bool]) -> str:
    points = [point for first, last in _WITH_CAPITALS for point in range(first, last + 1) if wanted(chr(point))]
    runs = [[point for _, point in run] for _, run in groupby(enumerate(points), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
