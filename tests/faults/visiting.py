"""Starts visitors: processes that use a store."""

import subprocess
import sys
from pathlib import Path

VISITOR = Path(__file__).with_name("visitor.py")
ROOT = VISITOR.parents[2]


def command(path, *words):
    """The command line of a visitor."""
    return [sys.executable, str(VISITOR), str(path), *map(str, words)]


def start(path, *words):
    """A visitor that runs."""
    return subprocess.Popen(
        command(path, *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def run(path, *words, before=(), code=0):
    """The lines that a visitor said until its end, which must be this one."""
    ended = subprocess.run(
        [*before, *command(path, *words)], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout.splitlines()
