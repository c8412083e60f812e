"""Writes to standard output in every way there is, at import and in its tool."""

import os
import subprocess
import sys

from zapomni_core.plugin import hookimpl, tool


def make_noise(when):
    print(f"printed {when}")
    sys.stdout.write(f"written {when}\n")
    sys.__stdout__.write(f"written to the original stream {when}\n")
    os.write(1, f"written to the descriptor {when}\n".encode())
    subprocess.run([sys.executable, "-Sc", f"print('echoed by a child {when}')"], check=True)


make_noise("at import")


@tool
async def noisy() -> str:
    """Make noise on standard output and answer nevertheless."""
    make_noise("in a call")
    return "quiet"


@hookimpl
def zapomni_tools():
    return [noisy]
