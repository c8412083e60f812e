"""Starts processes that use a store; `store_process.py` is their program."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("store_process.py")
ROOT = PROGRAM.parents[2]


def command(path, *words):
    """The command line of a process that uses a store."""
    return [sys.executable, str(PROGRAM), str(path), *map(str, words)]


def start(path, *words):
    """Start a process and return it."""
    return subprocess.Popen(
        command(path, *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def run(path, *words, before=(), code=0):
    """Run a process to its end, which must have this exit code; returns the lines it printed."""
    ended = subprocess.run(
        [*before, *command(path, *words)], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout.splitlines()
