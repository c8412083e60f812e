"""Compares and finds names of entities: by one key for all spellings, and by the words of that key."""

import re
import unicodedata

_RUN = re.compile(r"\w+")
# For a class of characters: scripts that put no spaces between words, and Hangul, which hangs particles onto names.
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"([{UNSPACED}]+)")
_LONGEST_WORD = 64
_WEIGHT_OF_QUESTION = 0.4  # how much it counts that the name has many of the words that were asked for
SHORTEST_BEGINNING = 2
"""Characters by which a word is found that begins with them."""


def shown(name: str) -> str:
    """A name as it is shown: as it was spelled, on one line."""
    return " ".join(name.split())


def key_of(name: str) -> str:
    """The same text for all spellings of a name: NFKC, case and white space do not count."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def snake_case(words: str) -> str:
    """A relation or a type as it is kept: `Works at`, `works-at` and `worksAt` are `works_at`, in any script."""
    words = unicodedata.normalize("NFKC", words)
    return "_".join("".join(map(_spaced, " " + words, words)).lower().split())


def _spaced(before: str, character: str) -> str:
    if unicodedata.category(character)[0] not in "LMN":
        return " "
    return f" {character}" if character.isupper() and not before.isupper() else character


def words_of(key: str) -> list[str]:
    """The distinct words of a key; where a script has no spaces, every two neighbouring characters are one.

    A key of nothing but signs, such as an emoji, is a word itself.
    """
    found = [word for run in _RUN.findall(key) for part in _UNSPACED.split(run) for word in _parts(part)]
    return list(dict.fromkeys(word[:_LONGEST_WORD] for word in found or ([key] if key else [])))


def _parts(part: str) -> list[str]:
    if len(part) > 1 and _UNSPACED.fullmatch(part):
        return [part[place : place + 2] for place in range(len(part) - 1)]
    return [part] if part else []


def name_score(words: list[str], asked: list[str]) -> float:
    """From 0 to 1: how much of a name was asked for, and how much of what was asked for is in the name."""
    matches = [[_match(word, wanted) for wanted in asked] for word in words]
    named: float = sum(map(max, matches)) / len(words)
    answered: float = sum(map(max, zip(*matches, strict=True))) / len(asked)
    return named * (1 - _WEIGHT_OF_QUESTION * (1 - answered))


def _match(word: str, wanted: str) -> float:
    if word == wanted:
        return 1.0
    if len(wanted) >= SHORTEST_BEGINNING and word.startswith(wanted):
        return len(wanted) / len(word)
    return 0.0
