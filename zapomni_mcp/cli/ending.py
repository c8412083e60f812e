"""Ends the process although a plugin left threads running."""

import os
import threading

SECONDS = 3.0

_timers: list[threading.Timer] = []


def end_soon(code: int) -> None:
    """End the process in a few seconds, should it not have ended by itself until then; asked again, the last one counts."""
    while _timers:
        _timers.pop().cancel()
    timer = threading.Timer(SECONDS, os._exit, [code])
    timer.daemon = True
    timer.start()
    _timers.append(timer)
