"""Where one character, as a reader sees it, ends and the next begins. Enough of Unicode's rules to cut no emoji in two."""

import unicodedata

_JOINER = "\u200d"


def is_joined(text: str, at: int) -> bool:
    """Whether a reader sees what stands before and after this place as one character."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    return (
        unicodedata.category(after)[0] == "M"
        or _JOINER in (before, after)
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or "\u1160" <= after <= "\u11ff"  # vowels and final consonants of Hangul
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
    )


def last_seam(text: str, start: int, stop: int) -> int:
    """The last place after `start` and up to `stop` that cuts no character; `stop` itself if there is none.

    `start` must be such a place.
    """
    at = stop
    while at > start and at < len(text) and (is_joined(text, at) or _in_flag(text, start, at)):
        at -= 1
    return at if at > start else stop


def _in_flag(text: str, start: int, at: int) -> bool:
    """Flags are pairs of letters of their own: an odd number of them before, and one after, is half a flag."""
    letters = 0
    while at - letters > start and _is_flag_letter(text[at - letters - 1]):
        letters += 1
    return letters % 2 == 1 and _is_flag_letter(text[at])


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
