"""Real text without a download: pieces of the sources and documentation that are installed with Python."""

import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PIECE = 375


def pieces(count: int) -> list[str]:
    """`count` different pieces of about 375 characters, always the same on one machine."""
    found: dict[str, None] = {}
    for text in _texts():
        for start in range(0, len(text) - PIECE, PIECE):
            found.setdefault(text[start : start + PIECE].strip().lstrip("# "))
        if len(found) > count * 2:
            break
    kept = [piece for piece in found if len(piece) > PIECE // 2]
    random.Random(1).shuffle(kept)
    if len(kept) < count:
        raise SystemExit(f"only {len(kept)} pieces of text are installed here, {count} are needed")
    return kept[:count]


def joined(count: int) -> list[str]:
    """`count` different pieces, more than are installed, each made of halves of two others."""
    whole = pieces(100_000)
    halves = [(piece[: PIECE // 2], piece[PIECE // 2 :]) for piece in whole]
    chance = random.Random(3)
    return [f"{chance.choice(halves)[0]} {chance.choice(halves)[1]}" for _ in range(count)]


def questions(texts: list[str], count: int) -> list[str]:
    """Short questions: five words in a row from somewhere in the texts."""
    chance = random.Random(2)
    found = []
    while len(found) < count:
        words = re.findall(r"[A-Za-z]{3,}", chance.choice(texts))
        if len(words) > 8:
            start = chance.randrange(len(words) - 6)
            found.append(" ".join(words[start : start + 5]))
    return found


def _texts() -> Iterator[str]:
    for root in (sysconfig.get_paths()["purelib"], sysconfig.get_paths()["stdlib"]):
        for file in sorted(Path(root).rglob("*.py")):
            yield re.sub(r"\s+", " ", file.read_text(encoding="utf-8", errors="ignore"))
