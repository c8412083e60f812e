"""Tells an author's mistake with the author's own line."""

import inspect
import linecache
import traceback
from pathlib import Path
from types import FunctionType

_LONGEST = 300


def at_line(function: FunctionType) -> str:
    """Where a function begins: `(weather.py:12: def zapomni_tool():)`."""
    code = inspect.unwrap(function).__code__
    line = _definition(code.co_filename, code.co_firstlineno)
    return _place(code.co_filename, line)


def quoted(error: BaseException, plugin: object = None) -> str:
    """An exception and the last line of the plugin's own code on its way: `ValueError: no key (weather.py:7: boom())`."""
    text = f"{type(error).__name__}: {_message(error)}"[:_LONGEST].rstrip(": ")
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{type(error).__name__}: {error.msg} {_place(error.filename, error.lineno)}"
    frame = _own_frame(error, inspect.getattr_static(plugin, "__file__", None))
    return f"{text} {_place(frame.filename, frame.lineno or 0)}" if frame else text


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as another:  # noqa: BLE001 (whatever its author wrote there)
        return f"its text raised {type(another).__name__}"


def _definition(filename: str, line: int) -> int:
    """The line of the `def` below its decorators."""
    while linecache.getline(filename, line).lstrip().startswith("@"):
        line += 1
    return line


def _place(filename: str, line: int) -> str:
    code = linecache.getline(filename, line).strip()[:_LONGEST]
    return f"({Path(filename).name}:{line}: {code})"


def _own_frame(error: BaseException, filename: str | None) -> traceback.FrameSummary | None:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_authors(frame.filename, filename)]
    return own[-1] if own else None


def _is_authors(frame_file: str, plugin_file: str | None) -> bool:
    """Whether a frame is the author's: in the plugin's package if that is known, else in nobody's we know."""
    if frame_file.startswith("<"):
        return False
    if plugin_file:
        return (
            Path(frame_file).is_relative_to(Path(plugin_file).parent) and "zapomni_core" not in Path(frame_file).parts
        )
    return "zapomni_core" not in Path(frame_file).parts and "importlib" not in Path(frame_file).parts
