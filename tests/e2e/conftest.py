"""Fixtures that start servers as real processes and end each by its process id, even when a test fails."""

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stdio_server import Start, start_servers
from tests.e2e.venvs import ROOT, build_venv


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers for one test."""
    with start_servers(tmp_path) as start:
        yield start


@pytest.fixture
def hangup_not_ignored() -> Iterator[None]:
    """Let programs that a test starts receive SIGHUP, even if `nohup` started pytest: a handled signal is not inherited as ignored."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def start_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts servers that the tests of a module share."""
    with start_servers(tmp_path_factory.mktemp("shared")) as start:
        yield start


@pytest.fixture(scope="session")
def broken_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with every broken plugin and two good ones, built once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    environment, ready = folder / "broken-environment", folder / "broken-environment.ready"
    with (folder / "broken-environment.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            build_venv(environment, [ROOT / "plugins" / "zapomni-plugin-hello", *_broken_plugins()])
            ready.touch()
    return environment / "bin"


def _broken_plugins() -> list[Path]:
    return sorted(file.parent for file in (ROOT / "tests" / "broken_plugins").glob("*/pyproject.toml"))
