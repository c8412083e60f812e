"""Converts texts, JSON, moments, digests and ids to and from stored values."""

import hashlib
import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from zapomni_db.arrays import Rows
from zapomni_db.errors import InvalidInputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EXACT = (
    1 << 32
) * 1_000_000  # before it, seconds as a float tell microseconds apart; that way is several times faster
_SHAPE: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "check_circular": False, "separators": (",", ":")}
_AS_IT_IS = json.JSONEncoder(**_SHAPE)
_CANONICAL = json.JSONEncoder(**_SHAPE, sort_keys=True)


def encode(field: str, text: str) -> bytes:
    """A text as it is kept; InvalidInputError names the field where it holds half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{field} must be valid Unicode, without lone surrogates") from None


def check_text(field: str, text: str) -> str:
    """The same text, if it can be kept."""
    if not text.isascii():  # which is known without a look at it
        encode(field, text)
    return text


def is_text(text: str) -> bool:
    """Whether a text can be in the file at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_json(field: str, value: Any, *, canonical: bool = False) -> str:
    """A value as JSON; canonical, equal values give equal texts."""
    try:
        text = (_CANONICAL if canonical else _AS_IT_IS).encode(value)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError(f"{field} must be plain JSON: text, numbers, lists and objects") from None
    return check_text(field, text)


def from_json(text: str) -> Any:
    """The value of a JSON text."""
    return json.loads(text)


def checked_micros(field: str, moment: datetime) -> int:
    """Microseconds since 1970 of a moment that can be given back."""
    micros = to_micros(moment)
    try:
        from_micros(micros)
    except OverflowError:
        raise InvalidInputError(f"{field} must be between the years 1 and 9999 in UTC") from None
    return micros


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970; a moment without a zone is UTC."""
    aware = moment if moment.utcoffset() is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The moment in UTC."""
    if 0 <= micros < _EXACT:
        return datetime.fromtimestamp(micros / 1_000_000, UTC)
    return _EPOCH + timedelta(microseconds=micros)


def from_micros_or_none(micros: int | None) -> datetime | None:
    """The moment in UTC, where there is one."""
    return None if micros is None else from_micros(micros)


def digest(*parts: bytes, size: int = 16) -> bytes:
    """A short name for some bytes. Where one part ends and the next begins counts."""
    marked = b"".join([len(part).to_bytes(8, "little") + part for part in parts])
    return hashlib.blake2b(marked, digest_size=size).digest()


@lru_cache(maxsize=1024)
def conversation_number(conversation: str) -> int:
    """A number for a conversation; 0 for none."""
    if not conversation:
        return 0
    return int.from_bytes(digest(conversation.encode(), size=8), "little", signed=True) or 1


def byte_offsets(text: str, places: Iterable[int]) -> dict[int, int]:
    """The offsets of the characters of a text in its UTF-8 bytes."""
    if text.isascii():
        return {place: place for place in places}
    offsets: dict[int, int] = {}
    byte = last = 0
    for place in sorted(set(places)):
        byte += len(text[last:place].encode())
        offsets[place], last = byte, place
    return offsets


def integers(listed: str | None) -> Rows:
    """The numbers of a `group_concat`: several times faster than fetching rows."""
    if not listed:
        return np.empty(0, np.int64)
    return np.fromstring(listed, np.int64, sep=",")


def new_id(micros: int) -> str:
    """A UUID of version 7: the millisecond of a moment, and 74 random bits."""
    moment, drawn = f"{micros // 1000:012x}", os.urandom(10)
    variant, random = "89ab"[drawn[9] & 3], drawn.hex()
    return f"{moment[:8]}-{moment[8:]}-7{random[:3]}-{variant}{random[3:6]}-{random[6:18]}"
