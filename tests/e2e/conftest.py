"""Servers as clients start them: real processes, each ended by its own id even when its test fails."""

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.venvs import ROOT, build_venv
from tests.e2e.wire import Start, starting


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers for one test."""
    with starting(tmp_path) as start:
        yield start


@pytest.fixture
def hangups_heard() -> Iterator[None]:
    """Programs that a test starts hear SIGHUP, although `nohup` may have begun this one: what is handled is not inherited."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def start_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts servers that the tests of a module share."""
    with starting(tmp_path_factory.mktemp("shared")) as start:
        yield start


@pytest.fixture(scope="session")
def broken_house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with every broken plugin and two good ones, built once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    house, ready = folder / "broken-house", folder / "broken-house.ready"
    with (folder / "broken-house.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            build_venv(house, [ROOT / "plugins" / "zapomni-plugin-hello", *_broken_plugins()])
            ready.touch()
    return house / "bin"


def _broken_plugins() -> list[Path]:
    return sorted(file.parent for file in (ROOT / "tests" / "broken_plugins").glob("*/pyproject.toml"))
