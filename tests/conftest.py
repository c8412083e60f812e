"""What all tests share: nothing of the developer's own settings reaches them."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no failure; fixtures that examples share are meant to be shared.
_SUPPRESSED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("zapomni", deadline=None, suppress_health_check=_SUPPRESSED)
settings.load_profile("zapomni")

# What runs in the background ignores Ctrl-C, and so would everything that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = {"e2e", "faults", "packaging", "test_docs.py"}
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that of several workers none is left alone with it at the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


@pytest.fixture(scope="session", autouse=True)
def measured() -> Iterator[dict[str, str]]:
    """The variable with which coverage measures a program. Only a few tests pass it on: without it programs start faster."""
    variables = {COVERAGE: os.environ[COVERAGE]} if COVERAGE in os.environ else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(COVERAGE, raising=False)
        yield variables


@pytest.fixture
def measured_programs(measured: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage measures the programs that the test starts."""
    for name, value in measured.items():
        monkeypatch.setenv(name, value)
