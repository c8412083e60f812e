import os
import subprocess
import sys
from pathlib import Path

import pytest

from zapomni_mcp import descriptors

ROOT = Path(__file__).parents[3]


def run(script: str, **streams) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import os, sys\nfrom zapomni_mcp.descriptors import *\n{script}"],
        **{"capture_output": True, "input": "from the client\n", **streams},
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
        timeout=30,
        check=False,
    )


def test_the_claimed_descriptors_read_and_write_to_the_client():
    done = run("fds = claim_stdio(); os.write(fds.write_fd, os.read(fds.read_fd, 100))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "from the client\n", "")


@pytest.mark.parametrize(
    "stray",
    [
        "print('stray')",
        "print('stray', file=sys.__stdout__, flush=True)",
        "os.write(1, b'stray\\n')",
        "os.system('echo stray')",
        "import subprocess; subprocess.run([sys.executable, '-c', 'print(\"stray\")'])",
    ],
)
def test_output_after_the_claim_goes_to_standard_error(stray):
    done = run(f"claim_stdio(); {stray}")
    assert (done.stdout, done.stderr.strip()) == ("", "stray")


def test_unflushed_output_from_before_the_claim_goes_to_standard_error():
    done = run("print('early'); claim_stdio()")
    assert (done.stdout, done.stderr) == ("", "early\n")


def test_nothing_is_left_to_read_on_standard_input():
    done = run("claim_stdio(); print([sys.stdin.read(), os.read(0, 1), os.system('cat')])")
    assert done.stderr == "['', b'', 0]\n"


def test_the_claimed_descriptors_are_above_the_standard_range_and_not_inherited():
    done = run("fds = claim_stdio(); print(*[(fd > 2, os.get_inheritable(fd)) for fd in (fds.read_fd, fds.write_fd)])")
    assert done.stderr == "(True, False) (True, False)\n"


FORKED = """
fds = claim_stdio()
child = os.fork()
if not child:
    print(os.write(fds.write_fd, os.read(fds.read_fd, 100) + b"stray"))
    print(*map(os.get_inheritable, (fds.read_fd, fds.write_fd)), flush=True)
    os._exit(0)
os.waitpid(child, 0)
os.write(fds.write_fd, os.read(fds.read_fd, 100))
"""


def test_a_forked_child_neither_reads_from_nor_writes_to_the_client():
    done = run(FORKED)
    assert (done.stdout, done.stderr) == ("from the client\n", "5\nFalse False\n")


def test_a_second_claim_returns_the_same_descriptors():
    assert run("print(claim_stdio() is claim_stdio(), file=sys.stderr)").stderr == "True\n"


@pytest.mark.parametrize(("fd", "name"), [(0, "input"), (1, "output")])
@pytest.mark.parametrize("when", ["closed at start", "closed later"])
def test_a_closed_descriptor_is_named_in_the_error(fd, name, when):
    script = "\ntry: claim_stdio()\nexcept OSError as error: print(error, file=sys.stderr)"
    late, early = (f"os.close({fd})", None) if when == "closed later" else ("", lambda: os.close(fd))
    done = run(late + script, preexec_fn=early)
    assert f"standard {name} is closed" in done.stderr.splitlines()[0]


def test_the_claim_works_with_a_closed_standard_error():
    done = run(
        "fds = claim_stdio(); print('stray'); sys.stdout.write('stray'); os.write(1, b'stray'); os.write(fds.write_fd, b'ok')",
        preexec_fn=lambda: os.close(2),
    )
    assert (done.returncode, done.stdout) == (0, "ok")


def test_a_command_keeps_its_output_while_plugins_print_to_standard_error():
    done = run(
        "print('first'); out = claim_stdout(); print('stray'); os.system('echo stray'); print('память', file=out)"
    )
    assert (done.stdout, done.stderr) == ("first\nпамять\n", "stray\nstray\n")


def test_a_command_without_standard_output_is_refused():
    script = "\ntry: claim_stdout()\nexcept OSError as error: print(error, file=sys.stderr)"
    assert "standard output is closed" in run(script, preexec_fn=lambda: os.close(1)).stderr


def test_a_commands_output_leaves_standard_input_alone():
    assert run("out = claim_stdout(); print(sys.stdin.read(), end='', file=out)").stdout == "from the client\n"


def test_a_commands_output_appears_line_by_line():
    done = run("out = claim_stdout(); print('line', file=out); os._exit(0)")
    assert done.stdout == "line\n"


def test_a_commands_output_knows_whether_it_is_a_terminal():
    assert run("print(claim_stdout().isatty(), file=sys.stderr)").stderr == "False\n"
    terminal, shell = os.openpty()
    done = run("print(claim_stdout().isatty(), file=sys.stderr)", capture_output=False, stdout=shell, stderr=-1)
    os.close(terminal)
    os.close(shell)
    assert done.stderr == "True\n"


def test_a_lone_surrogate_does_not_break_a_commands_output():
    assert run("print('\\ud800', file=claim_stdout())").stdout == "\\ud800\n"


def test_the_client_and_a_commands_output_are_the_same_descriptor():
    assert run("out = claim_stdout(); print(claim_stdio().write_fd == out.fileno(), file=out)").stdout == "True\n"


def test_a_replaced_standard_output_is_kept_for_the_command(monkeypatch, capsys):
    replaced, before = sys.stdout, os.fstat(1)
    monkeypatch.setattr(sys, "stdout", replaced)
    assert descriptors.claim_stdout() is replaced
    sys.stdout.write("stray\n")
    assert capsys.readouterr() == ("", "stray\n")
    assert os.path.samestat(os.fstat(1), before)
