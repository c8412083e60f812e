"""Converts between lines of bytes and JSON-RPC messages, and answers lines that are not valid messages."""

import json
import logging
from contextlib import suppress
from typing import Any

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

_LONGEST_FIELD = 200
MAX_LINE_BYTES = 128 * 2**20

Line = bytes | bytearray

_TOO_LONG = b"[]"  # replaces a discarded line: the client gets "Invalid request", as for any line that is no message
_PARSE_ERROR = ErrorData(code=PARSE_ERROR, message="Parse error")
_INVALID = ErrorData(code=INVALID_REQUEST, message="Invalid request")
_INTERNAL = ErrorData(code=INTERNAL_ERROR, message="Internal error")

logger = logging.getLogger("zapomni.transport")


class LineSplitter:
    """Splits a stream of bytes into lines, without blank ones and without keeping lines over MAX_LINE_BYTES."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that this data completes. At the end of input, feed a newline to complete the last one."""
        first, *others = data.split(b"\n")
        lines = []
        self._extend(first)
        for piece in others:
            lines.append(self._take())
            self._extend(piece)
        return [line for line in lines if line and not line.isspace()]

    def _take(self) -> Line:
        line: Line = self._partial
        if self._size > MAX_LINE_BYTES:
            logger.warning("discarded a line of %d bytes; the limit is %d", self._size, MAX_LINE_BYTES)
            line = _TOO_LONG
        self._partial, self._size = bytearray(), 0
        return line

    def _extend(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_LINE_BYTES:
            self._partial.clear()
        else:
            self._partial += piece


def parse(line: Line) -> JSONRPCMessage | ErrorData:
    """Return the message in a line, or what is wrong with it.

    A request whose id is neither a string nor an integer is an error here, because the SDK would take it for a
    notification and never answer it.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception as error:  # noqa: BLE001 - a line must not end the server, whatever is in it
        return _INVALID if _is_json(error) else _parse_error(line)
    if isinstance(message, JSONRPCNotification) and b'"id"' in line and _content(line).get("id") is not None:
        return _INVALID
    return message


def refusal(line: Line, error: ErrorData) -> JSONRPCError | None:
    """Return the response to an invalid line, or None when its sender expects none."""
    content = _content(line)
    logger.info("refused a line of %d bytes: %s", len(line), error.message)
    return JSONRPCError(jsonrpc="2.0", id=_id(content), error=error) if _expects_response(content) else None


def encode(message: JSONRPCMessage) -> bytes | None:
    """Return a message as a line.

    A response that JSON cannot represent becomes an internal error, such a notification None; for a request the
    exception goes to the tool that sends it.
    """
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except Exception:
        if isinstance(message, JSONRPCRequest):
            raise
        logger.exception("a %s could not be written as JSON", type(message).__name__)
    if isinstance(message, JSONRPCNotification):
        return None
    return encode(JSONRPCError(jsonrpc="2.0", id=message.id, error=_INTERNAL))


def _parse_error(line: Line) -> ErrorData:
    """Name the field that holds half a surrogate pair: valid JSON syntax, but no valid text."""
    field = None
    with suppress(RecursionError):
        field = _surrogate_field(_content(line).get("params")) if b"\\ud" in line.lower() else None
    if field is None:
        return _PARSE_ERROR
    return ErrorData(
        code=PARSE_ERROR, message=f"Parse error: {field[:_LONGEST_FIELD]} must not contain lone surrogates"
    )


def _surrogate_field(value: Any, name: str = "params") -> str | None:
    """Find the first text that cannot be written as UTF-8."""
    if isinstance(value, str):
        return None if value.isascii() or value == value.encode(errors="ignore").decode() else name
    if isinstance(value, dict):
        if any(_surrogate_field(key) for key in value):
            return name
        parts = [(one, f"{name}.{key}") for key, one in value.items()]
    else:
        parts = [(one, f"{name}[{place}]") for place, one in enumerate(value)] if isinstance(value, list) else []
    return next((found for one, place in parts if (found := _surrogate_field(one, place))), None)


def _is_json(error: Exception) -> bool:
    """Whether the line was JSON, though not a message."""
    if not isinstance(error, ValidationError):
        return False
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return first["type"] not in {"json_invalid", "string_unicode"}


def _expects_response(content: dict[str, Any]) -> bool:
    """Whether a line may be a request: there is no response to a notification or to a response."""
    if "id" in content:
        return "method" in content or not content.keys() & {"result", "error"}
    return content.get("jsonrpc") != "2.0" or not isinstance(content.get("method"), str)


def _id(content: dict[str, Any]) -> RequestId | None:
    match content.get("id"):
        case bool():
            return None
        case int() as number:
            return number
        case str() as text if text == text.encode(errors="ignore").decode():
            return text
        case _:
            return None


def _content(line: Line) -> dict[str, Any]:
    """Read a line with a more lenient parser; empty unless it is an object."""
    try:
        content = json.loads(line.decode(errors="surrogateescape"))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
