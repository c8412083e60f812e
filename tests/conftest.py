"""What all tests share: nothing of the developer's own settings reaches them."""

import os
import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import FalkorDBServer, UnavailableError, falkordb, falkordb_programs

# A busy machine is no failure; fixtures that examples share are meant to be shared.
_SUPPRESSED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("zapomni", deadline=None, suppress_health_check=_SUPPRESSED)
settings.load_profile("zapomni")

# What runs in the background ignores Ctrl-C, and so would everything that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = {"e2e", "faults", "packaging", "test_docs.py"}
MEASURED = {"test_demo.py", "test_serve.py", "test_shutdown.py"}
"""Tests of code that only programs run. Their programs are measured by coverage; others start faster without it."""
COVERAGE = "COVERAGE_PROCESS_CONFIG"

OTHERS = {"LOG_LEVEL", "FALKORDB_HOST", "FALKORDB_PORT", "GRAPH_NAME"}
"""Variables that set something of Zapomni's without its name."""


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No variables of Zapomni's but the tests' own (ZAPOMNI_TEST_*), and empty folders for settings and data."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name in OTHERS or (name.startswith("ZAPOMNI_") and not name.startswith("ZAPOMNI_TEST_")):
                patch.delenv(name)
        for kind in ("CONFIG", "DATA", "CACHE"):
            patch.setenv(f"XDG_{kind}_HOME", str(folder / kind.lower()))
        yield


@pytest.fixture(scope="session")
def falkordb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FalkorDBServer]:
    """A FalkorDB that the tests of this process share. With CI=true it must be there; elsewhere tests are skipped without it."""
    try:
        falkordb_programs()
    except UnavailableError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with falkordb(tmp_path_factory.mktemp("falkordb")) as server:
        yield server


@pytest.fixture
def falkordb_url(falkordb_server: FalkorDBServer) -> Iterator[str]:
    """The address of a graph that is empty, and deleted after the test."""
    graph = f"test-{uuid4().hex}"
    yield falkordb_server.url(graph)
    with falkordb_server.client() as client:
        client.delete(graph)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that need a database server."""
    if "falkordb_server" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.stores)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that of several workers none is left alone with it at the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


_coverage: list[str] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Tell coverage to measure the programs of some tests only."""
    _coverage.extend(filter(None, [os.environ.pop(COVERAGE, None)]))
    if _coverage and item.path.name in MEASURED:
        os.environ[COVERAGE] = _coverage[0]
