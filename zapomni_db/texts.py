"""The rule for every text that is stored or searched for."""

from zapomni_db.errors import InvalidInputError


def check_encodable(field: str, text: str) -> None:
    """InvalidInputError where a text cannot be kept: one half of a surrogate pair is no character."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{field} must not contain lone surrogates (it cannot be written as UTF-8)") from None
