"""What is told by its shape: whether a word with dots is a file, a host or a name in code, and whether a quotation is a title."""

# ruff: noqa: RUF001 (the punctuation of other scripts looks like ours)

import re
from collections.abc import Iterator

from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.russian import is_russian, nominative
from zapomni_core.extraction.words import domains, extensions, not_names

_TRAILING = ".,;:!?'*_-…"
_OPENING = {")": "(", "]": "[", "}": "{"}
_VERSION = re.compile(r"(v?)\d+((?:\.\d+)+)(?:-[\w.-]+)?", re.ASCII)
_LIBRARY = re.compile(r"[A-Z][a-z]+\.js")
_PARTS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
_COLOUR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_CLAUSE = re.compile(r"[.,;:!?…]\s|[.,;:!?…。！？、，]$|[。！？、，]")
_LONGEST_TITLE = 6
_SMALL_WORD = 4


def read_url(found: re.Match[str]) -> Iterator[Mention]:
    yield from _whole(found, _without_trailing(found[0]), "url")


def read_email(found: re.Match[str]) -> Iterator[Mention]:
    yield from _whole(found, found[0].rstrip(_TRAILING), "email")


def read_code(found: re.Match[str]) -> Iterator[Mention]:
    """What stands alone between backticks is a name in code, a path or an address."""
    name = found[1].removesuffix("()")
    if any(character.isalpha() for character in name):
        kind = "url" if "://" in name else "path" if _is_path(name) or _is_file(name) else "identifier"
        yield Mention(found.start(1), found.start(1) + len(name), name, kind)


def read_path(found: re.Match[str]) -> Iterator[Mention]:
    """`/etc/hosts` and `src/main.py`, but neither `and/or` nor `24/7/365`."""
    name = found[0].rstrip(_TRAILING)
    if _is_path(name):
        yield from _whole(found, name, "path")


def read_dotted(found: re.Match[str]) -> Iterator[Mention]:
    """A version, a file, a host, or a name in code; nothing where a space after a full stop is missing."""
    name = found[0].rstrip(_TRAILING)
    if kind := _kind_of_dotted(name):
        yield from _whole(found, name, kind)


def read_tag(found: re.Match[str]) -> Iterator[Mention]:
    name = found[0].rstrip("-_")
    if not _COLOUR.fullmatch(name):
        yield from _whole(found, name, "tag")


def read_identifier(found: re.Match[str]) -> Iterator[Mention]:
    if any(character.isalpha() for character in found[0]):
        yield from _whole(found, found[0], "identifier")


def read_digest(found: re.Match[str]) -> Iterator[Mention]:
    """A hash has letters and digits: a word has no digits, and a number no letters."""
    if not found[0].isdigit() and any(character.isdigit() for character in found[0]):
        yield from _whole(found, found[0], "identifier")


def read_title(found: re.Match[str]) -> Iterator[Mention]:
    """What stands between quotation marks, if it is written as a title and not as something said."""
    group = found.lastindex or 0
    name = found[group]
    if _is_title(name):
        yield Mention(found.start(group), found.end(group), nominative(name) if is_russian(name) else name, "name")


def read_foreign(found: re.Match[str]) -> Iterator[Mention]:
    """A Latin word in a script without capital letters: a name, since it was not translated."""
    name = found[0].rstrip(_TRAILING)
    if len(name) > 1 and name.casefold() not in not_names():
        yield from _whole(found, name, "name")


def _whole(found: re.Match[str], name: str, kind: str) -> Iterator[Mention]:
    if name:
        yield Mention(found.start(), found.start() + len(name), name, kind)


def _without_trailing(url: str) -> str:
    """An address without the punctuation of the sentence around it; a bracket that it opened itself stays."""
    while url:
        last = url[-1]
        if last not in _TRAILING and (last not in _OPENING or url.count(_OPENING[last]) >= url.count(last)):
            break
        url = url[:-1]
    return url


def _is_path(name: str) -> bool:
    parts = [part for part in re.split(r"[/\\]", name) if part]
    if not any(character.isalpha() for character in name) or ("/" not in name and "\\" not in name):
        return False
    if name.startswith(("/", "~", "./", "../", "\\")) or name[1:3] == ":\\":
        return len(parts) > 1 or _is_file(parts[0])
    return _is_file(parts[-1]) or (len(parts) > 2 and name.isascii() and name.islower())  # noqa: PLR2004 (more than and/or)


def _is_file(name: str) -> bool:
    stem, dot, extension = name.rpartition(".")
    return bool(dot) and extension.casefold() in extensions() and any(map(str.isalpha, stem))


def _kind_of_dotted(name: str) -> str | None:
    if version := _VERSION.fullmatch(name):
        return "identifier" if version[1] or version[2].count(".") > 1 else None
    parts = name.split(".")
    if max(map(len, parts)) == 1:
        return None  # e.g., U.S.
    if _LIBRARY.fullmatch(name):
        return "name"
    if _is_file(name):
        return "path"
    if parts[-1] in domains() and name.islower():
        return "url"
    return "identifier" if _PARTS.fullmatch(name) and _is_in_code(name, parts) else None


def _is_in_code(name: str, parts: list[str]) -> bool:
    marked = "_" in name or len(parts) > 2 or any(not part.islower() and not part.istitle() for part in parts)  # noqa: PLR2004
    return marked or (name.islower() and min(map(len, parts)) > 1)


def _is_title(text: str) -> bool:
    words = text.split()
    if not words or text != text.strip() or len(words) > _LONGEST_TITLE or _CLAUSE.search(text):
        return False
    if text[0] >= "\u3000" or text[0].isdigit():
        return any(map(str.isalpha, text))
    if not text[0].isupper() or text.casefold() in not_names():
        return False
    others = [word for word in words[1:] if len(word) >= _SMALL_WORD]
    return (
        all(word[0].isupper() or word[0].isdigit() for word in others) if text.isascii() else len(others) < _SMALL_WORD
    )
