"""Quotes functions and exceptions with the line of the plugin that they come from."""

import inspect
import linecache
import traceback
from pathlib import Path
from types import FunctionType

import pluggy

_LONGEST = 300
_STANDARD = Path(inspect.__file__).parent
_PLUGGY = Path(pluggy.__file__).parent
_INSTALLED = {"site-packages", "dist-packages"}


def at_line(function: FunctionType) -> str:
    """The place of a function: `(weather.py:12: def zapomni_tool():)`."""
    code = inspect.unwrap(function).__code__
    line = _definition(code.co_filename, code.co_firstlineno)
    return _place(code.co_filename, line)


def quoted(error: BaseException, plugin: object = None) -> str:
    """An exception with the last line of the plugin in its traceback: `ValueError: no key (weather.py:7: boom())`."""
    text = f"{type(error).__name__}: {' '.join(_message(error).split())}"[:_LONGEST].rstrip(": ")
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{type(error).__name__}: {error.msg} {_place(error.filename, error.lineno)}"
    frame = _own_frame(error, inspect.getattr_static(plugin, "__file__", None))
    return f"{text} {_place(frame.filename, frame.lineno or 0)}" if frame else text


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as another:  # noqa: BLE001 (`__str__` may be the plugin's)
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
    """The last frame in the plugin's folder; where its file is unknown, in that of the first frame outside Zapomni."""
    frames = traceback.extract_tb(error.__traceback__)
    foreign = [frame.filename for frame in frames if not _is_ours(frame.filename)]
    home = filename or next(iter(foreign), "")
    own = [frame for frame in frames if not _is_ours(frame.filename) and _is_beside(frame.filename, home)]
    return own[-1] if own else None


def _is_ours(file: str) -> bool:
    """Whether a frame is in Zapomni, pluggy or the standard library."""
    path = Path(file)
    is_standard = path.is_relative_to(_STANDARD) and not _INSTALLED & set(path.parts)
    return file.startswith("<") or "zapomni_core" in path.parts or path.is_relative_to(_PLUGGY) or is_standard


def _is_beside(file: str, home: str) -> bool:
    """Whether a file is in the folder of `home`, but not in an environment there; in `site-packages`, only `home` itself."""
    folder = Path(home).parent
    if folder.name in _INSTALLED or not Path(file).is_relative_to(folder):
        return file == home
    return not _INSTALLED & set(Path(file).relative_to(folder).parts)
