"""Lines and messages: what a line of bytes says, and how a message is written as one."""

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

_TOO_LONG = b"[]"  # stands in for a line that was discarded: it is refused as any other line that is no message
_PARSE_ERROR = ErrorData(code=PARSE_ERROR, message="Parse error")
_INVALID = ErrorData(code=INVALID_REQUEST, message="Invalid request")
_INTERNAL = ErrorData(code=INTERNAL_ERROR, message="Internal error")

logger = logging.getLogger("zapomni.transport")


class Lines:
    """Cuts a stream of bytes into lines that are not blank, looking at every byte once."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> list[Line]:
        """The lines that this data completes; at the end of input a newline completes the last one."""
        first, *others = data.split(b"\n")
        lines = []
        self._extend(first)
        for piece in others:
            lines.append(self._take())
            self._extend(piece)
        return [line for line in lines if line and not line.isspace()]

    def _take(self) -> Line:
        line: Line = self._begun
        if self._size > MAX_LINE_BYTES:
            logger.warning("discarded a line of %d bytes; the limit is %d", self._size, MAX_LINE_BYTES)
            line = _TOO_LONG
        self._begun, self._size = bytearray(), 0
        return line

    def _extend(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_LINE_BYTES:
            self._begun.clear()
        else:
            self._begun += piece


def parse(line: Line) -> JSONRPCMessage | Exception:
    """The message a line holds, or why it holds none."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception as error:  # noqa: BLE001 - no line may end the serving
        return error


def understand(line: Line, parsed: JSONRPCMessage | Exception) -> JSONRPCMessage | ErrorData:
    """The message, or what is wrong with the line.

    A request whose id is neither a string nor an integer is parsed as a notification, and nobody would answer it.
    """
    if isinstance(parsed, Exception):
        return _parse_error(line) if _is_no_json(parsed) else _INVALID
    if isinstance(parsed, JSONRPCNotification) and b'"id"' in line and _content(line).get("id") is not None:
        return _INVALID
    return parsed


def refusal(line: Line, error: ErrorData) -> JSONRPCError | None:
    """The answer to a line that is not understood, or None when its sender waits for no answer."""
    content = _content(line)
    logger.info("refused a line of %d bytes: %s", len(line), error.message)
    return JSONRPCError(jsonrpc="2.0", id=_id(content), error=error) if _wants_answer(content) else None


def encode(message: JSONRPCMessage) -> tuple[JSONRPCMessage, bytes] | None:
    """A message and its line; an internal error in place of an answer that JSON cannot hold, None for a notification."""
    try:
        return message, message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except Exception:
        if isinstance(message, JSONRPCRequest):
            raise  # to the tool that asks
        logger.exception("a %s could not be written as JSON", type(message).__name__)
    if isinstance(message, JSONRPCNotification):
        return None
    return encode(JSONRPCError(jsonrpc="2.0", id=message.id, error=_INTERNAL))


def _parse_error(line: Line) -> ErrorData:
    """JSON may say half a surrogate pair, which no text holds: whoever sent it hears in which field it is."""
    field = None
    with suppress(RecursionError):
        field = _surrogate_field(_content(line).get("params")) if b"\\ud" in line.lower() else None
    if field is None:
        return _PARSE_ERROR
    return ErrorData(
        code=PARSE_ERROR, message=f"Parse error: {field[:_LONGEST_FIELD]} must not contain lone surrogates"
    )


def _surrogate_field(value: Any, name: str = "params") -> str | None:
    """The place of the first text that cannot be written as UTF-8."""
    if isinstance(value, str):
        return None if value.isascii() or value == value.encode(errors="ignore").decode() else name
    if isinstance(value, dict):
        if any(_surrogate_field(key) for key in value):
            return name
        parts = [(one, f"{name}.{key}") for key, one in value.items()]
    else:
        parts = [(one, f"{name}[{place}]") for place, one in enumerate(value)] if isinstance(value, list) else []
    return next((found for one, place in parts if (found := _surrogate_field(one, place))), None)


def _is_no_json(error: Exception) -> bool:
    if not isinstance(error, ValidationError):
        return True
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return first["type"] in {"json_invalid", "string_unicode"}


def _wants_answer(content: dict[str, Any]) -> bool:
    """Whether a line may be a request: notifications have no answer, and neither have answers to our own requests."""
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
    """What a more lenient parser makes of a line; empty when it is no object."""
    try:
        content = json.loads(line.decode(errors="surrogateescape"))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
