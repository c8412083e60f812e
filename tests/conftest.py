"""Fixtures of all tests. The developer's own settings do not reach them."""

import os
import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import FalkorDBServer, UnavailableError, falkordb, falkordb_programs

# A busy machine may be slow; fixtures may be shared by all examples.
_SUPPRESSED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("zapomni", deadline=None, suppress_health_check=_SUPPRESSED)
settings.load_profile("zapomni")

# A process in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = {"e2e", "faults", "packaging", "test_docs.py"}
COVERAGE = "COVERAGE_PROCESS_CONFIG"

OTHERS = {"LOG_LEVEL", "FALKORDB_HOST", "FALKORDB_PORT", "GRAPH_NAME"}
"""Variables that set something of Zapomni's without its name."""


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Unset Zapomni's variables, except ZAPOMNI_TEST_*, and use empty folders for settings and data."""
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
    """Begin with the slowest tests, so that all workers are busy until the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


@pytest.fixture(scope="session", autouse=True)
def measured() -> Iterator[dict[str, str]]:
    """The variable with which coverage measures programs. Few tests pass it on, because programs start faster without it."""
    variables = {COVERAGE: os.environ[COVERAGE]} if COVERAGE in os.environ else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(COVERAGE, raising=False)
        yield variables


@pytest.fixture
def measured_programs(measured: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the programs that the test starts."""
    for name, value in measured.items():
        monkeypatch.setenv(name, value)
