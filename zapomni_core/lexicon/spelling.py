"""How a name may be written in the other alphabet: a Cyrillic one in Latin letters, a Latin one in Cyrillic."""

# ruff: noqa: RUF001 (Cyrillic looks like Latin)

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST = 32
"""Spellings of a word that are tried, the most usual first."""
LEAST_LETTERS = 3


class _Alphabet(NamedTuple):
    """What is written in an alphabet for letters of the other one, the most usual first."""

    written: dict[str, list[str]]
    letters: re.Pattern[str]


def _alphabet(lines: str) -> _Alphabet:
    """Letters with what is written for them, `-` for nothing; those that count together are found before single ones."""
    pairs = [line.split() for line in lines.split(",")]
    written = {letters: ["" if one == "-" else one for one in others] for letters, *others in pairs}
    return _Alphabet(written, re.compile("|".join(sorted(written, key=len, reverse=True))))


_CYRILLIC = _alphabet("""
    shch щ, tsch ч, sch ш сч, zh ж, kh х, ch ч х ш к, sh ш, ts ц, tz ц, cz ч, sz ш, ck к, ph ф, th т, gh г, qu кв, ks кс,
    ya я, ja я, ia ия я, yu ю, ju ю жу, yo е йо, jo е джо, ye е, je е, oo у, ee и, ou у, ei ей ай, ai ай, ay ай эй, ey ей и,
    oy ой, ii ий, iy ий, ij ий, ll лл л, mm мм м, nn нн н, pp пп п, ss сс с, tt тт т, dt дт т,
    a а, b б, c к ц с, d д, e е э, f ф, g г, h х г, i и, j й дж ж, k к, l л ль, m м, n н, o о, p п, q к, r р, s с з, t т,
    u у ю, v в, w в у, x кс, y ы и й, z з ц,
    ä е я, ö е, ü ю у, ß с, à а, á а, â а, ç ч с, è е э, é е э, ê е, ë е, í и, î и, ñ нь, ó о у, ô о, ú у,
    ć ч, ğ г, ı ы и, ł л, ń н нь, ś с, ş ш, ź з, ż ж
""")
_LATIN = _alphabet("""
    дж j dzh, кс x ks, ия ia iya ija, ья ya ia ja, ий iy ii y, ый y yi,
    а a, б b, в v w, г g h, д d, е e ye, ё yo io e, ж zh j, з z s, и i y, й y j i, к k c, л l, м m, н n, о o, п p, р r, с s ss, т t th,
    у u oo ou w, ф f ph, х kh h ch, ц ts c z tz, ч ch tsch cz, ш sh sch ch, щ shch, ъ -, ы y i, ь -, э e a, ю yu ju u iu,
    я ya ja ia a, ґ g, є ye ie, і i, ї yi i
""")
_VOWELS = "аеийоуыьэюяії"


def spellings(word: str) -> set[str]:
    """What a case-folded word of one alphabet may be in the other; nothing for other scripts, and for what is too short."""
    if len(word) < LEAST_LETTERS:
        return set()
    alphabet = _LATIN if "\u0400" <= word[0] <= "\u052f" else _CYRILLIC
    return {spelling for form in _forms(word) for spelling in _spelled(form, alphabet)}


def _forms(word: str) -> Iterator[str]:
    """A Cyrillic name may be in any case: how it is called may end otherwise, or with a consonant."""
    yield word
    if word[-1] in _VOWELS:
        yield from (word[:-1] + ending for ending in ("", "а", "я"))


def _spelled(word: str, alphabet: _Alphabet) -> list[str]:
    parts = alphabet.letters.findall(word)
    if "".join(parts) != word:
        return []
    begun = [(0, "")]  # how unusual it is, and what is written
    for part in parts:
        longer = (
            (rare + place, text + one) for rare, text in begun for place, one in enumerate(alphabet.written[part])
        )
        begun = sorted(longer, key=lambda pair: pair[0])[:MOST]
    return [text for _, text in begun]
