import json
import logging
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from zapomni_core.dispatch.call import Call, CallContext, call_context
from zapomni_mcp.logging import announce, configure

logger = logging.getLogger("zapomni.test")
CONTENTS = "the text of a memory"


@pytest.fixture(autouse=True)
def _restored():
    """Restores the logging of this process."""
    root = logging.getLogger()
    named = [root, *map(logging.getLogger, ("zapomni", "mcp", "sse_starlette"))]
    levels, handlers, raising = [one.level for one in named], root.handlers[:], logging.raiseExceptions
    ours = named[1].handlers[:]
    yield
    for one, level in zip(named, levels, strict=True):
        one.setLevel(level)
    root.handlers[:] = handlers
    named[1].handlers[:] = ours
    logging.raiseExceptions = raising
    logging.captureWarnings(capture=False)


@pytest.fixture
def lines(capsys):
    """The lines on standard error so far; checks that standard output is empty."""

    def lines() -> list[dict]:
        written = capsys.readouterr()
        assert written.out == ""
        return [json.loads(line) for line in written.err.splitlines()]

    return lines


def run(code: str, **options) -> subprocess.CompletedProcess:
    prelude = "import logging, sys\nfrom zapomni_mcp.logging import announce, configure\n"
    command = [sys.executable, "-c", prelude + code]
    return subprocess.run(command, text=True, check=False, timeout=60, **options)


def test_a_record_is_one_line_of_json_with_the_same_leading_keys(lines):
    configure("INFO")
    logger.info("stored %d\nchunks", 3, extra={"memory_id": "m1", "took": 1.5})
    (line,) = lines()
    assert list(line) == ["timestamp", "level", "logger", "event", "memory_id", "took"]
    assert line["event"] == "stored 3\nchunks"
    assert (line["level"], line["logger"], line["took"]) == ("info", "zapomni.test", 1.5)


def test_the_time_is_in_utc(lines):
    configure("INFO")
    logger.info("now")
    timestamp = lines()[0]["timestamp"]
    assert timestamp.endswith("Z")
    assert abs((datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()) < 60


def test_the_announcement_has_the_same_leading_keys(lines):
    announce({"event": "serving", "tools": 3, "level": "mine"})
    (line,) = lines()
    assert list(line) == ["timestamp", "level", "logger", "event", "tools", "level_"]
    assert (line["level"], line["logger"], line["event"]) == ("info", "zapomni", "serving")


def test_configuring_again_changes_the_level_and_does_not_duplicate_lines(lines):
    configure("INFO")
    configure("error")
    logger.warning("unheard")
    logger.error("heard")
    assert [line["event"] for line in lines()] == ["heard"]


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("DEBUG", ["zapomni debug", "other debug", "other info", "other warning", "mcp info"]),
        ("INFO", ["other warning"]),
        ("WARNING", ["other warning"]),
        ("ERROR", []),
    ],
)
def test_other_libraries_are_logged_from_warning_on(lines, level, heard):
    configure(level)
    logger.debug("zapomni debug")
    for word in ("debug", "info", "warning"):
        getattr(logging.getLogger("other.library"), word)(f"other {word}")
    logging.getLogger("mcp.server").debug("mcp debug")
    logging.getLogger("mcp.server").info("mcp info")
    assert [line["event"] for line in lines()] == heard


def test_a_warning_is_logged():
    done = run("import warnings\nconfigure('WARNING')\nwarnings.warn('careful')", capture_output=True)
    line = json.loads(done.stderr)
    assert (line["level"], line["logger"]) == ("warning", "py.warnings")
    assert "UserWarning: careful" in line["event"]


def test_a_line_that_is_written_during_a_call_carries_its_id(lines):
    configure("INFO")
    token = call_context.set(CallContext(call=Call(id="call-1", name="add_memory", arguments={})))
    logger.info("inside", extra={"request_id": "mine"})
    call_context.reset(token)
    logger.info("outside")
    inside, outside = lines()
    assert list(inside)[4] == "request_id"
    assert (inside["request_id"], inside["request_id_"]) == ("call-1", "mine")
    assert "request_id" not in outside


def fail(part: str):
    memory = part * 3
    raise ValueError(len(memory))


def test_an_exception_has_its_traceback_and_no_locals(lines):
    configure("INFO")
    try:
        fail("remember ")
    except ValueError:
        logger.exception("failed")
    (line,) = lines()
    assert line["exception"].startswith("Traceback (most recent call last):")
    assert line["exception"].endswith("ValueError: 27")
    assert "remember remember" not in json.dumps(line)
    assert "exc_info" not in line


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_exception_that_quotes_contents_is_logged_by_type_and_place(lines, wrapped):
    configure("INFO")
    try:
        try:
            TypeAdapter(int).validate_python(CONTENTS)
        except ValidationError as error:
            if wrapped:
                raise RuntimeError(str(error)) from error
            raise
    except Exception:
        logger.exception("failed")
    (line,) = lines()
    assert CONTENTS not in json.dumps(line)
    assert line["exception"].splitlines()[-1] == (
        "builtins.RuntimeError" if wrapped else "pydantic_core._pydantic_core.ValidationError"
    )
    assert "test_logging.py" in line["exception"]


def test_an_exception_logged_by_the_mcp_library_is_logged_without_its_text(lines):
    configure("INFO")
    try:
        raise RuntimeError(CONTENTS)  # noqa: TRY301 (what is logged is what was raised)
    except RuntimeError:
        logging.getLogger("mcp.server.runner").exception("handler raised")
    (line,) = lines()
    assert CONTENTS not in json.dumps(line)
    assert line["exception"].endswith("builtins.RuntimeError")


def test_an_extra_that_is_named_like_a_leading_key_is_renamed(lines):
    configure("INFO")
    logger.info("real", extra={"event": "mine", "timestamp": 0})
    (line,) = lines()
    assert (line["event"], line["event_"], line["timestamp_"]) == ("real", "mine", 0)


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")


circle: dict = {}
circle["me"] = circle


@pytest.mark.parametrize(
    "extra", [object(), Hostile(), {1, 2}, {(1, 2): 3}, circle, float("nan"), b"x", [Hostile()], "\ud800"]
)
def test_an_extra_that_is_not_json_is_logged(lines, extra):
    configure("INFO")
    logger.info("logged", extra={"given": extra, "beside": "kept"})
    (line,) = lines()
    assert (line["event"], line["beside"]) == ("logged", "kept")
    assert "given" in line


def test_extras_that_are_not_json_are_shortened(lines):
    configure("INFO")
    logger.info("logged", extra={"given": {"x" * 10_000}})
    assert len(lines()[0]["given"]) < 600


@pytest.mark.parametrize(("message", "arguments"), [("%d apples", ("many",)), ("%s %s", ("one",)), (Hostile(), ())])
def test_a_record_that_cannot_be_rendered_still_gets_a_line_without_its_arguments(lines, message, arguments):
    configure("INFO")
    logger.info(message, *arguments)
    (line,) = lines()
    assert line["logging_error"]
    assert "many" not in json.dumps(line)


ANY_VALUE = st.recursive(st.integers() | st.text(), st.lists, max_leaves=6)


@given(st.text(), st.dictionaries(st.text(min_size=1).map("x{}".format), ANY_VALUE, max_size=4))
def test_every_record_is_one_line(lines, message, extra):
    configure("INFO")
    logger.info("%s", message, extra=extra)
    (line,) = lines()
    assert line["event"] == message
    assert line.items() >= extra.items()


def test_lines_of_many_threads_do_not_mix(lines):
    configure("INFO")
    threads = [threading.Thread(target=lambda: [logger.info("x" * 500) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines()) == 400


def test_a_plugin_that_configures_logging_does_not_stop_the_log():
    done = run(
        "configure('INFO')\n"
        "logging.basicConfig(force=True, level='DEBUG', format='plain %(message)s')\n"
        "logging.getLogger('zapomni').warning('ours', extra={'tool': 'hello'})\n"
        "logging.getLogger('other').debug('unheard')\n"
        "for handler in logging.getLogger().handlers[:]: logging.getLogger().removeHandler(handler)\n"
        "logging.getLogger('other').warning('theirs')",
        capture_output=True,
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["event"], line.get("tool")) for line in lines] == [("ours", "hello"), ("theirs", None)]


@pytest.mark.parametrize("removal", ["logging.root.handlers.clear()", "logging.root.handlers = []"])
def test_our_records_are_logged_after_a_plugin_removes_every_handler(removal):
    done = run(f"configure('INFO')\n{removal}\nlogging.getLogger('zapomni.test').warning('ours')", capture_output=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["ours"]


def test_records_of_other_libraries_are_logged_after_all_handlers_were_removed():
    done = run(
        "configure('INFO')\nlogging.root.handlers.clear()\nlogging.getLogger('other').warning('theirs')",
        capture_output=True,
    )
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["theirs"]


def test_other_handlers_can_be_added_and_removed(lines):
    configure("INFO")
    root, other = logging.getLogger(), logging.NullHandler()
    root.addHandler(other)
    assert other in root.handlers
    root.removeHandler(other)
    assert other not in root.handlers
    logger.info("once")
    assert [line["event"] for line in lines()] == ["once"]


def test_structlog_is_imported_at_the_first_record_only():
    done = run(
        "configure('WARNING'); announce({'tools': 3}); logging.getLogger('zapomni').info('unheard')\n"
        "assert not {'structlog', 'rich'} & set(sys.modules)\n"
        "logging.getLogger('zapomni').warning('heard')\n"
        "assert 'structlog' in sys.modules",
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["started", "heard"]


SPEAK = (
    "configure('INFO'); announce({'tools': 3}); logging.getLogger('zapomni').info('hello')\n"
    "logging.getLogger('zapomni').error('%d', 'x', extra={'o': object()})\nprint('alive')"
)


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are inherited otherwise there")
@pytest.mark.parametrize(
    "before",
    ["sys.stderr = None\n", "sys.stderr.close()\n", "import os; os.close(2)\n"],
    ids=["none", "closed", "gone"],
)
def test_the_program_continues_without_standard_error(before):
    done = run(before + SPEAK, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_a_broken_pipe_does_not_stop_the_program():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as broken:
        done = run(SPEAK, stdout=subprocess.PIPE, stderr=broken)
    assert (done.returncode, done.stdout) == (0, "alive\n")


UNREAD = """
import logging, sys
from zapomni_mcp.logging import configure
configure("INFO")
log = logging.getLogger("zapomni")
for number in range(1000):
    log.info("unread", extra={"filling": "x" * (number % 7) * 1000})
print("alive", flush=True)
sys.stdin.readline()
log.info("read again")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a full pipe cannot be detected on Windows")
def test_an_unread_standard_error_does_not_block_the_program_and_lost_lines_are_counted():
    command = [sys.executable, "-c", UNREAD]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, bufsize=0) as program:
        assert program.stdout.readline() == b"alive\n"
        os.set_blocking(program.stderr.fileno(), False)
        early = program.stderr.read(2**20)
        os.set_blocking(program.stderr.fileno(), True)
        _, late = program.communicate(b"\n", timeout=60)
    *whole, torn = early.split(b"\n")
    kept = [json.loads(line)["event"] for line in whole]
    assert set(kept) == {"unread"}
    lost, last = [json.loads(line) for line in late.splitlines() if line]
    assert (lost["event"], lost["level"], lost["count"]) == ("lines_lost", "warning", 1000 - len(kept))
    assert last["event"] == "read again"
    assert late.startswith(b"\n") == bool(torn)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_standard_error_does_not_change_the_exit_code(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w") as full:
        done = run(SPEAK, stdout=subprocess.PIPE, stderr=full)
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_a_record_at_the_very_end_of_the_program_is_logged():
    done = run(
        "import atexit\nconfigure('INFO')\natexit.register(lambda: logging.getLogger('zapomni').info('bye'))",
        capture_output=True,
    )
    assert json.loads(done.stderr)["event"] == "bye"
