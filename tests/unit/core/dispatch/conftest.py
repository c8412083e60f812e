"""Shared by the tests of dispatch."""

import logging
import threading
import time

import pytest


class Around:
    """A middleware whose body is a function."""

    def __init__(self, stage, body):
        self.stage = stage
        self._body = body

    async def __call__(self, call, call_next):
        return await self._body(call, call_next)


class Noticing(logging.Handler):
    """A log handler that notes when the watchdog has logged something."""

    def __init__(self):
        super().__init__()
        self.noticed = threading.Event()

    def emit(self, record):
        if record.name == "zapomni.watchdog":
            self.noticed.set()


@pytest.fixture
def block(monkeypatch):
    """A function that blocks the event loop until the watchdog has logged it."""
    monkeypatch.setattr("zapomni_core.dispatch.watchdog.PATIENCE_SECONDS", 0.05)
    handler = Noticing()

    def block():
        deadline = time.monotonic() + 20
        while not handler.noticed.is_set() and time.monotonic() < deadline:
            time.sleep(0.01)

    logging.getLogger().addHandler(handler)
    yield block
    logging.getLogger().removeHandler(handler)
