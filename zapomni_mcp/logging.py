"""Writes log records to standard error: readable on a terminal, otherwise one JSON object a line."""

import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from threading import RLock
from types import TracebackType
from typing import Any

from zapomni_core.dispatch.call import current_call_id

ROOM_SECONDS = 0.25
"""The time that a line waits for a client that does not read standard error."""

_ROOT = "zapomni"
_LONGEST_REPR = 500
_LONGEST_CHAIN = 20
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# At DEBUG these log whole messages, and with them the text of memories.
_VERBOSE = ("mcp", "sse_starlette")
# They log every failed attempt to reach an endpoint; zapomni.telemetry logs the first one.
_REPETITIVE = ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal")
# It quotes headers that it cannot parse, and with them an API key.
_LEAKY = "opentelemetry.util.re"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Fields = MutableMapping[str, Any]


def configure(level: str) -> None:
    """Log at that level; call it again to change the level. Other libraries log from WARNING on, unless it is DEBUG."""
    root, ours = logging.getLogger(), logging.getLogger(_ROOT)
    if not any(isinstance(handler, _StderrHandler) for handler in root.handlers):
        root.handlers = _Handlers([*root.handlers, _OthersHandler()])
    if not any(isinstance(handler, _StderrHandler) for handler in ours.handlers):
        ours.addHandler(_StderrHandler())
    wanted = logging.getLevelNamesMapping()[level.upper()]
    others = wanted if wanted == logging.DEBUG else max(wanted, logging.WARNING)
    root.setLevel(others)
    ours.setLevel(wanted)
    for name in _VERBOSE:
        logging.getLogger(name).setLevel(max(others, logging.INFO))
    for name in _REPETITIVE:
        logging.getLogger(name).setLevel(wanted if wanted == logging.DEBUG else logging.CRITICAL)
    logging.getLogger(_LEAKY).setLevel(logging.CRITICAL)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False


def announce(line_fields: Mapping[str, Any]) -> None:
    """Write the one line of the start, whatever the level; the fields may give the `event`."""
    now = datetime.now(UTC).timestamp()
    fields = dict(line_fields)
    lead = _lead(now, "info", _ROOT, fields.pop("event", "started"))
    _write(_render(lead | _rename_clashes(lead, fields)))


class _StderrHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_LineFormatter())

    def handle(self, record: logging.LogRecord) -> bool:
        # Formatted outside the lock: the first record imports structlog, and a thread that imports a plugin may log.
        if not self.filter(record):
            return False
        line = self.format(record)
        self.acquire()
        try:
            _write(line)
        finally:
            self.release()
        return True


class _OthersHandler(_StderrHandler):
    """Handles the records of other libraries, which reach the root logger; ours have a handler of their own."""

    def filter(self, record: logging.LogRecord) -> Any:
        return record.name.partition(".")[0] != _ROOT and super().filter(record)


class _Handlers(list[logging.Handler]):
    """Handlers of which ours cannot be removed, as a plugin's `logging.basicConfig(force=True)` would."""

    def remove(self, handler: logging.Handler) -> None:
        if not isinstance(handler, _StderrHandler):
            super().remove(handler)

    def clear(self) -> None:
        self[:] = [handler for handler in self if isinstance(handler, _StderrHandler)]


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        try:
            return _structlog_formatter().format(record)
        except Exception as error:  # noqa: BLE001 - a record that cannot be rendered is logged all the same
            lead = _lead(record.created, record.levelname.lower(), record.name, _plain(record.msg))
            return _render(lead | {"logging_error": type(error).__name__})


@cache
def _structlog_formatter() -> logging.Formatter:
    # Imported at the first record: it takes 100 ms, and most runs log nothing.
    from structlog.processors import JSONRenderer, format_exc_info
    from structlog.stdlib import ProcessorFormatter

    renderer = JSONRenderer(serializer=lambda fields, **_: _render(fields))
    return ProcessorFormatter(processors=[_arrange, format_exc_info, renderer])


def _arrange(_logger: Any, _method: str, event: Fields) -> Fields:
    """Order the fields, as a structlog processor: leading keys, then `extra` fields, then the exception."""
    record: logging.LogRecord = event.pop("_record")
    event.pop("_from_structlog")
    lead = _lead(record.created, record.levelname.lower(), record.name, event.pop("event"))
    extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
    if (raised := event.get("exc_info")) and _may_quote_content(record.name, raised[1]):
        event["exception"] = _without_text(*event.pop("exc_info")[1:])
    return lead | _rename_clashes(lead, extra) | dict(event)


def _may_quote_content(logger: str, error: BaseException | None) -> bool:
    """Whether the exception's text may quote a memory, as that of pydantic and of the MCP library does."""
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            break
        if type(error).__name__ == "ValidationError":
            return True
        error = error.__cause__ or error.__context__
    return logger.partition(".")[0] in _VERBOSE


def _without_text(error: BaseException, trace: TracebackType | None) -> str:
    return "".join(traceback.format_tb(trace)) + f"{type(error).__module__}.{type(error).__qualname__}"


def _lead(created: float, level: str, logger: str, event: Any) -> dict[str, Any]:
    timestamp = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lead = {"timestamp": timestamp, "level": level, "logger": logger, "event": event}
    if (call_id := current_call_id()) is not None:
        lead["request_id"] = call_id
    return lead


def _rename_clashes(lead: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Append an underscore to fields that would overwrite a leading key."""
    return {f"{key}_" if key in lead else key: value for key, value in fields.items()}


def _render(fields: Mapping[str, Any]) -> str:
    return _as_text(fields) if _is_terminal() else _as_line(fields)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # None or closed
        return False


def _as_text(fields: Mapping[str, Any]) -> str:
    """Format for a terminal: time, level and event, then the other fields, and a traceback below."""
    rest = dict(fields)
    time, level, event = rest.pop("timestamp"), rest.pop("level"), rest.pop("event")
    trace = rest.pop("exception", None)
    others = "".join(f" {key}={_quoted(_readable(value))}" for key, value in rest.items() if key != "logger")
    moment = datetime.fromisoformat(time).astimezone().strftime("%H:%M:%S")
    text = f"{moment} {level.upper()} {event}{others}" + (f"\n{trace}" if trace else "")
    return _CONTROL.sub("", text)


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text


def _readable(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_readable(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_readable, value))
    return value if isinstance(value, str) else _short_repr(value)


def _as_line(fields: Mapping[str, Any]) -> str:
    try:
        return json.dumps(fields, default=_short_repr, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps({str(key): _plain(value) for key, value in fields.items()})


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | None) else _short_repr(value)


def _short_repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a plugin's object may do anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}..."


class _LineWriter:
    """Writes whole lines to standard error, without waiting long for a client that does not read them.

    A line for which there is no room after ROOM_SECONDS is lost, and so are the next ones; once there is room again,
    a record `lines_lost` says how many.
    """

    def __init__(self) -> None:
        self._lost = 0
        self._is_torn = False
        self._renew_lock()
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._renew_lock)

    def write(self, line: str) -> None:
        # sys.stderr is None without a console, closed or broken after the client has gone: there is no one to tell.
        with suppress(OSError, ValueError, AttributeError), self._lock:
            fd = _stderr_fd()
            if fd is None:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()
            else:
                self._write(fd, line)

    def _renew_lock(self) -> None:
        self._lock = RLock()  # an object's finalizer may log while a line is written

    def _write(self, fd: int, line: str) -> None:
        if self._lost and self._put(fd, _lines_lost(self._lost)):
            self._lost = 0
        if self._lost or not self._put(fd, line):
            self._lost += 1

    def _put(self, fd: int, line: str) -> bool:
        """Whether there was room for the whole line; a torn one is ended before the next."""
        data = ("\n" * self._is_torn + f"{line}\n").encode(errors="backslashreplace")
        rest = memoryview(data)
        while rest and _has_room(fd, 0.0 if self._lost else ROOM_SECONDS):
            rest = rest[os.write(fd, rest[:_PIECE]) :]
        self._is_torn = bool(rest) and (self._is_torn or len(rest) < len(data))
        return not rest


if sys.platform == "win32":
    _PIECE = 4096

    def _stderr_fd() -> int | None:
        """Windows cannot tell whether there is room."""
        return None

    def _has_room(_fd: int, _seconds: float) -> bool:
        return True

else:
    import select

    _PIECE = select.PIPE_BUF  # a pipe with room takes this much without blocking

    def _stderr_fd() -> int | None:
        """The descriptor of `sys.stderr`; None where that is an object without one."""
        try:
            return sys.stderr.fileno()
        except (AttributeError, OSError, ValueError):
            return None

    def _has_room(fd: int, seconds: float) -> bool:
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        return bool(poll.poll(seconds * 1000))


def _lines_lost(count: int) -> str:
    lead = _lead(datetime.now(UTC).timestamp(), "warning", f"{_ROOT}.logging", "lines_lost")
    return _render(lead | {"count": count, "reason": "standard error was not read"})


_write = _LineWriter().write
