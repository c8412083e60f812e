"""Renders the records of the standard loggers on standard error: readable on a terminal, else as JSON, one line each."""

import json
import logging
import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from functools import cache
from types import TracebackType
from typing import Any

from zapomni_core.dispatch.call import current_call_id
from zapomni_mcp.stderr import LineWriter

_OURS = "zapomni"
_LONGEST_REPR = 500
_LONGEST_CHAIN = 20
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# At DEBUG these print whole messages, and with them the text of memories.
_TALKATIVE = ("mcp", "sse_starlette")
# They tell of every attempt to reach an endpoint that is away; zapomni.telemetry tells of it once.
_REPETITIVE = ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal")
# It quotes headers that it cannot read, and with them somebody's key.
_INDISCREET = "opentelemetry.util.re"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Fields = MutableMapping[str, Any]


def configure(level: str) -> None:
    """Log at that level from now on; calling it again changes the level. Other libraries speak from WARNING on."""
    root, ours = logging.getLogger(), logging.getLogger(_OURS)
    if not any(isinstance(handler, _StderrHandler) for handler in root.handlers):
        root.handlers = _Handlers([*root.handlers, _OthersHandler()])
    if not any(isinstance(handler, _StderrHandler) for handler in ours.handlers):
        ours.addHandler(_StderrHandler())
    wanted = logging.getLevelNamesMapping()[level.upper()]
    others = wanted if wanted == logging.DEBUG else max(wanted, logging.WARNING)
    root.setLevel(others)
    ours.setLevel(wanted)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(others, logging.INFO))
    for name in _REPETITIVE:
        logging.getLogger(name).setLevel(wanted if wanted == logging.DEBUG else logging.CRITICAL)
    logging.getLogger(_INDISCREET).setLevel(logging.CRITICAL)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False


def announce(line_fields: Mapping[str, Any]) -> None:
    """Write the one line of the start, whatever the level; the fields may give the `event`."""
    now = datetime.now(UTC).timestamp()
    fields = dict(line_fields)
    lead = _lead(now, "info", _OURS, fields.pop("event", "started"))
    _write(_rendered(lead | _beside(lead, fields)))


class _StderrHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_LineFormatter())

    def handle(self, record: logging.LogRecord) -> bool:
        # Formatted outside the lock: the first record imports structlog, while a thread that imports a plugin may log.
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
    """For the records of other libraries, which reach the root; ours have a handler of their own, that nobody replaces."""

    def filter(self, record: logging.LogRecord) -> Any:
        return record.name.partition(".")[0] != _OURS and super().filter(record)


class _Handlers(list[logging.Handler]):
    """Handlers of which ours stays: a plugin's `logging.basicConfig(force=True)` would take the log away from all others.

    As one is left then, that call changes nothing else either.
    """

    def remove(self, handler: logging.Handler) -> None:
        if not isinstance(handler, _StderrHandler):
            super().remove(handler)

    def clear(self) -> None:
        self[:] = [handler for handler in self if isinstance(handler, _StderrHandler)]


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        try:
            return _structlog_formatter().format(record)
        except Exception as error:  # noqa: BLE001, a record that cannot be rendered still gets its line
            lead = _lead(record.created, record.levelname.lower(), record.name, _plain(record.msg))
            return _rendered(lead | {"logging_error": type(error).__name__})


@cache
def _structlog_formatter() -> logging.Formatter:
    # Imported at the first record, because it takes 100 ms and most runs log nothing.
    from structlog.processors import JSONRenderer, format_exc_info
    from structlog.stdlib import ProcessorFormatter

    renderer = JSONRenderer(serializer=lambda fields, **_: _rendered(fields))
    return ProcessorFormatter(processors=[_arrange, format_exc_info, renderer])


def _arrange(_logger: Any, _method: str, event: Fields) -> Fields:
    """A structlog processor: the leading keys, then the record's own `extra` fields, then the exception."""
    record: logging.LogRecord = event.pop("_record")
    event.pop("_from_structlog")
    lead = _lead(record.created, record.levelname.lower(), record.name, event.pop("event"))
    extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
    if (raised := event.get("exc_info")) and _is_indiscreet(record.name, raised[1]):
        event["exception"] = _without_text(*event.pop("exc_info")[1:])
    return lead | _beside(lead, extra) | dict(event)


def _is_indiscreet(logger: str, error: BaseException | None) -> bool:
    """Whether the text of an exception may quote contents, as pydantic's does, and with it the MCP library's."""
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            break
        if type(error).__name__ == "ValidationError":
            return True
        error = error.__cause__ or error.__context__
    return logger.partition(".")[0] in _TALKATIVE


def _without_text(error: BaseException, trace: TracebackType | None) -> str:
    return "".join(traceback.format_tb(trace)) + f"{type(error).__module__}.{type(error).__qualname__}"


def _lead(created: float, level: str, logger: str, event: Any) -> dict[str, Any]:
    timestamp = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lead = {"timestamp": timestamp, "level": level, "logger": logger, "event": event}
    if (call_id := current_call_id()) is not None:
        lead["request_id"] = call_id
    return lead


def _beside(lead: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under names that leave the leading keys alone."""
    return {f"{key}_" if key in lead else key: value for key, value in fields.items()}


def _rendered(fields: Mapping[str, Any]) -> str:
    return _as_text(fields) if _is_terminal() else _as_line(fields)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # None or closed
        return False


def _as_text(fields: Mapping[str, Any]) -> str:
    """For people: time, level and event, then the other fields, and a traceback beneath them."""
    rest = dict(fields)
    time, level, event = rest.pop("timestamp"), rest.pop("level"), rest.pop("event")
    trace = rest.pop("exception", None)
    told = "".join(f" {key}={_quoted(_readable(value))}" for key, value in rest.items() if key != "logger")
    moment = datetime.fromisoformat(time).astimezone().strftime("%H:%M:%S")
    text = f"{moment} {level.upper()} {event}{told}" + (f"\n{trace}" if trace else "")
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
    except Exception:  # noqa: BLE001, a plugin's object may do anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}..."


def _told_of(lost: int) -> str:
    lead = _lead(datetime.now(UTC).timestamp(), "warning", f"{_OURS}.logging", "lines_lost")
    return _rendered(lead | {"count": lost, "reason": "nobody read standard error"})


_write = LineWriter(_told_of).write
