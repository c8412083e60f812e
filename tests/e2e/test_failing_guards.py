"""If the plugin of a guard or transform cannot start, every call is refused."""

import subprocess

import pytest

from tests.e2e.stdio_server import ZAPOMNI, environment, text_of

PLUGIN = """
import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from zapomni_core.plugin import ToolError, hookimpl

HERE = Path(__file__).parent


class Middleware:
    stage = "{stage}"

    async def __call__(self, call, call_next):
        if call.arguments.get("name") == "Eve":
            raise ToolError("Eve is not greeted.")
        return await call_next(call)


@asynccontextmanager
async def lifespan():
    {opening}
    yield


@hookimpl
def zapomni_middleware():
    return [Middleware()]


@hookimpl
def zapomni_lifespan():
    return lifespan()
"""
FAILS = "raise ConnectionError('secret-host is down')"
HANGS = "await asyncio.Event().wait()"
WAITS = "while not (HERE / 'go').exists(): await asyncio.sleep(.01)"
EARLY = {"ZAPOMNI_PLUGINS__START_SECONDS": "0.5"}


@pytest.fixture
def write(tmp_path):
    def write(stage, opening):
        file = tmp_path / "gatekeeper.py"
        file.write_text(PLUGIN.format(stage=stage, opening=opening))
        return file

    return write


@pytest.fixture
def installed(tmp_path, write):
    """Write metadata of an installed plugin; returns the variables with which it is found."""

    def install(stage, opening):
        write(stage, opening)
        info = tmp_path / "gatekeeper-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gatekeeper\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[zapomni.plugins]\ngatekeeper = gatekeeper\n")
        return {"PYTHONPATH": str(tmp_path)}

    return install


def is_refused(result, way_out="zapomni plugins disable gatekeeper"):
    record = result["structuredContent"]
    named = "'gatekeeper'" in text_of(result) and way_out in text_of(result)
    return result["isError"] and record["error_code"] == "PLUGIN_UNAVAILABLE" and named


@pytest.mark.parametrize("stage", ["guard", "transform"])
@pytest.mark.parametrize("opening", [FAILS, HANGS], ids=["fails", "hangs"])
def test_calls_are_refused_before_and_after_the_lifespan_has_failed(start, installed, stage, opening):
    server = start(ZAPOMNI, "serve", **installed(stage, opening), **EARLY)
    server.initialize()
    assert is_refused(server.call("hello"))
    server.logged("plugin_withdrawn", plugin="gatekeeper")
    again = server.call("hello")
    assert is_refused(again)
    assert "secret-host" not in text_of(again)
    assert server.close() == 0


@pytest.mark.parametrize("options", [["--plugin"], ["--strict", "--plugin"]])
def test_calls_are_refused_if_the_plugin_was_given_on_the_command_line(start, write, options):
    file = write("guard", FAILS)
    server = start(ZAPOMNI, "serve", *options, file)
    server.initialize()
    server.logged("plugin_withdrawn", plugin="gatekeeper", fix=f"see the log, or leave out --plugin {file}")
    assert is_refused(server.call("hello"), way_out=f"leave out --plugin {file}")


def test_a_call_from_the_command_line_is_refused(tmp_path, write):
    file = write("guard", FAILS)
    done = subprocess.run(
        [ZAPOMNI, "call", "hello", "--plugin", file],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"leave out --plugin {file}" in done.stdout
    assert "Hello" not in done.stdout


def test_calls_pass_without_the_plugin(start, installed):
    server = start(ZAPOMNI, "serve", **installed("guard", FAILS), ZAPOMNI_PLUGINS__DISABLE="gatekeeper")
    server.initialize()
    assert text_of(server.call("hello")) == "Hello, world!"


def test_calls_pass_if_the_lifespan_of_an_observer_fails(start, installed):
    server = start(ZAPOMNI, "serve", **installed("observe", FAILS))
    server.initialize()
    server.logged("plugin_withdrawn", plugin="gatekeeper")
    assert text_of(server.call("hello")) == "Hello, world!"


def test_calls_wait_for_a_guard_that_is_still_starting(start, installed, tmp_path):
    server = start(ZAPOMNI, "serve", **installed("guard", WAITS))
    server.initialize()
    server.request_call("hello", {"name": "Ada"}, key="Ada")
    server.request_call("hello", {"name": "Eve"}, key="Eve")
    server.ask("tools/list")
    assert not [one for one in server.messages if one.get("id") in ("Ada", "Eve")]
    (tmp_path / "go").touch()
    assert text_of(server.answer("Ada")["result"]) == "Hello, Ada!"
    assert text_of(server.answer("Eve")["result"]).startswith("Error: Eve is not greeted.")
