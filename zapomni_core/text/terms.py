"""Splits texts and questions into search terms, in every script.

A word is a run of letters, marks, digits and `_` of one script, after NFKC. Scripts that put no spaces between words
give pairs of neighbouring characters. Other words are case-folded (`ё` as its plain letter), dropped if they are stop words, and
stemmed. An identifier counts whole and in its parts: `getUserName` gives `getusernam get user name`.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from operator import add
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found]  # it has no types

from zapomni_core.text.stopwords import STOP_WORDS

VERSION = 1
"""The analyser's version. Raise it when terms change; `reindex` then analyses older chunks again."""

LONGEST = 128
"""Characters of a word that count. Longer ones are data, not language, and stores limit the length of a key."""
_MOST_MARKS = 30
"""Combining marks in a row that count. The time to normalise a run grows with the square of its length."""
_REMEMBERED = 32
_MOST_REMEMBERED = 32_768

# Soft hyphens, joiners, direction marks, keycaps, variation selectors: invisible to a reader, and missing in questions.
_UNSEEN = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060\u20e3\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")

_HAN = "㐀-䶿一-鿿〇〡-〩"
_RARE_HAN = "\U00020000-\U0002a6df\U0002a700-\U0002b738\U0002b740-\U0002b81d\U0002b820-\U0002cea1\U00030000-\U0003134a"
_THAI, _LAO, _KHMER, _KANA = (0x0E01, 0x0E4E), (0x0E81, 0x0EDF), (0x1780, 0x17DD), (0x3005, 0x30FF)
_CYRILLIC = ((0x0400, 0x052F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F))
_HEBREW_AND_ARABIC, _INDIC = (0x0590, 0x08FF), (0x0900, 0x0DFF)
_HANGUL = "가-힣ᄀ-ᇿㄱ-ㆎ"
_MARKS = ((0x0300, 0x2FFF), (0x302A, 0x309A), (0xA000, 0xABFF), (0xFB00, 0xFFFF), (0x10000, 0x1E94F))

_SHARP = r"(?:(?=[+#])(?<=[A-Za-z])(?<!\w\w)(?:\+\+|#))?"  # C++ and C# are words too
_ASCII_WORD = re.compile(rf"\w+{_SHARP}", re.ASCII)

_UPPER, _LOWER = "A-ZÀ-ÖØ-ÞΑ-ΩЀ-Я", "a-zß-öø-ÿα-ωа-џ"
_SEAM = re.compile(
    rf"_+|(?:(?<=[{_LOWER}])|(?<=[{_LOWER}]\d)|(?<=[{_LOWER}]\d\d))(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])"
)
_NUMBERED = re.compile(r"(\D+)(\d+)|(\d+)(\D+)")  # python3, 15kg; a hash has more seams, and stays whole


class _Stemmers(threading.local):
    """Stemmers are not thread-safe. Their caches are off, because `_Known` caches whole words."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0)
        self.russian = Stemmer.Stemmer("russian", 0)


_stemmers = _Stemmers()


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a question as written, and its terms: that of the whole word first, and none if it is a stop word."""

    word: str
    terms: tuple[str, ...]


class Given(NamedTuple):
    """The word of a question that a term comes from, as written, and its part; for the whole word, the word again."""

    word: str
    part: str


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repeats."""
    return list(chain.from_iterable(map(_known.__getitem__, _words(text))))


def query_words(text: str) -> list[QueryWord]:
    """The words of a question, in order, with repeats and stop words."""
    return [QueryWord(word, _known[word]) for word in _words(text)]


def query_terms(text: str) -> dict[str, Given]:
    """Each term of a question once, with the first word it comes from; in scripts without words, with itself."""
    found: dict[str, Given] = {}
    for word in _words(text):
        for number, term in enumerate(_known[word]):
            found.setdefault(term, Given(term, term) if _is_unspaced(word) else Given(word, _part(word, number, term)))
    return found


def words(text: str) -> list[str]:
    """The whole words of a text, case-folded, in order. Names are compared by them."""
    return [_folded(word) for word in _words(text)]


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    seen = _many_marks().sub(r"\1", _UNSEEN.sub("", text))
    return _word().findall(unicodedata.normalize("NFKC", seen))


def _analysed(word: str) -> tuple[str, ...]:
    if _is_unspaced(word):
        return tuple(map(add, word, word[1:])) or (word,)
    if word.endswith(("+", "#")):
        return (_folded(word), *_stem(word[:1]))
    whole = _stem(word)
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):  # it has no parts
        return whole
    parts = [_known[part] for part in _parts(word[:LONGEST])]
    return tuple(dict.fromkeys(chain(whole, *parts)))


class _Known(dict[str, tuple[str, ...]]):
    """Caches the terms of words. Only short words of spaced scripts are kept; others rarely repeat."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = _analysed(word)
        if len(word) <= _REMEMBERED and word[0] < "\u0e00":
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = found
        return found


_known = _Known()


def _parts(word: str) -> list[str]:
    """The parts of an identifier, which may have parts themselves: split at its seams, else into letters and digits."""
    between = [part for part in _SEAM.split(word) if part]
    if between != [word]:
        return between
    numbered = _NUMBERED.fullmatch(word)
    return [part for part in numbered.groups() if part] if numbered else []


def _part(word: str, number: int, term: str) -> str:
    """The part of a word that gave one of its terms: the first term is of the whole word, the others are of parts."""
    if not number:
        return word
    parts = [word[:1]] if word.endswith(("+", "#")) else _all_parts(word[:LONGEST])
    return next((part for part in parts if term in _stem(part)), word)


def _all_parts(word: str) -> Iterator[str]:
    for part in _parts(word):
        yield part
        yield from _all_parts(part)


def _stem(word: str) -> tuple[str, ...]:
    """The stem of a word or a part; none if it is a stop word."""
    folded = _folded(word)
    if folded in STOP_WORDS or not folded.strip("_"):
        return ()
    is_russian = not folded.isascii() and "\u0400" <= max(folded) <= "\u052f"
    return ((_stemmers.russian if is_russian else _stemmers.english).stemWord(folded),)


def _folded(word: str) -> str:
    """Case-fold a word. Folding can undo the normal form, so normalisation comes last."""
    folded = word[:LONGEST].casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFKC", folded.replace("\u0451", "\u0435"))


@cache
def _many_marks() -> re.Pattern[str]:
    """Matches a run of marks longer than `_MOST_MARKS`, with the marks that count as a group."""
    marks = f"[{_characters(*_MARKS, categories='M')}\uff9e\uff9f]"  # NFKC makes marks of these two letters
    # A class with many ranges beyond \uffff is slow, and it is tried at every character of a text.
    first = f"[{_characters(*_MARKS[:-1], categories='M')}\uff9e\uff9f\U00010000-\U0001e94f]"
    return re.compile(f"({first}{marks}{{{_MOST_MARKS - 1}}}){marks}+")


@cache
def _word() -> re.Pattern[str]:
    """Matches a word. It begins with a letter, a digit or `_`, and keeps digits and `_` that follow its letters."""
    unspaced, marks = _unspaced(), _characters(*_MARKS, categories="M")
    scripts = [_characters(*_CYRILLIC), _characters(_HEBREW_AND_ARABIC), _characters(_INDIC), _HANGUL]
    other = f"[^\\W{unspaced}{''.join(scripts)}\U00020000-\U0003ffff]+"
    runs = [_run(other, marks) + _SHARP, *(_run(f"[{script}][{script}\\d_]*", marks) for script in scripts)]
    return re.compile(rf"(?=\w)(?:{'|'.join(runs)}|[{unspaced}{_RARE_HAN}]+)")


def _run(letters: str, marks: str) -> str:
    """Letters with marks between and after them. Marks are many and rare; the lookahead skips them in most texts."""
    return f"{letters}(?:(?=[^\x00-\u02ff])[{marks}]+(?:{letters})?)*"


def _is_unspaced(word: str) -> bool:
    return word[0] >= "\u0e00" and _unspaced_letter().match(word) is not None


@cache
def _unspaced_letter() -> re.Pattern[str]:
    return re.compile(f"[{_unspaced()}{_RARE_HAN}]")


@cache
def _unspaced() -> str:
    return _HAN + _characters(_THAI, _LAO, _KHMER, _KANA)


def _characters(*ranges: tuple[int, int], categories: str = "LM") -> str:
    """The characters of these ranges and categories, for use between the brackets of a pattern."""
    points = (
        point
        for first, last in ranges
        for point in range(first, last + 1)
        if unicodedata.category(chr(point))[0] in categories
    )
    runs = [[point for _, point in run] for _, run in groupby(enumerate(points), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
