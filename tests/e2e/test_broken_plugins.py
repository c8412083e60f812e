"""A server with every plugin of tests/broken_plugins serves the tools that work and reports the failures."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from mcp import MCPError

from tests.e2e.mcp_client import ERAS, connect
from tests.e2e.stdio_server import environment, text_of

pytestmark = [pytest.mark.venv, pytest.mark.xdist_group("broken plugins")]

SETTINGS = """
[plugins]
disable = ["zapomni"]  # only installed plugins

[tools.never_returns]
timeout_seconds = 0.5
"""
LIMITS = {"ZAPOMNI_PLUGINS__IMPORT_SECONDS": "2", "ZAPOMNI_PLUGINS__START_SECONDS": "2"}
GOOD_TOOLS = {
    "blocking_body",
    "count",
    "hello",
    "never_returns",
    "noisy",
    "raises_base_exception",
    "raising_tool",
    "rubbish_result",
}
FAILURES = {
    "bad_schema": ("tools", "properties/count/type breaks the rule", "fix the tool"),
    "blocking_hook": ("hooks", "zapomni_tools took longer than 2 s", "do slow work in the lifespan"),
    "exiting_property": (
        "tools",
        "SystemExit: 7 (broken_exiting_property.py:14: sys.exit(7))",
        "fix the tool",
    ),
    "exits_at_import": ("import", "SystemExit: 3", "must not exit at import"),
    "import_error": (
        "import",
        "No module named 'a_library_that_nobody_has'",
        "-m pip install a-library-that-nobody-has",
    ),
    "interrupting_hook": (
        "hooks",
        "KeyboardInterrupt (broken_interrupting_hook.py:8: raise KeyboardInterrupt)",
        "fix zapomni_middleware",
    ),
    "misspelt_hook": (
        "hooks",
        "there is no hook 'zapomni_tool' (broken_misspelt_hook.py:",
        "rename it to zapomni_tools",
    ),
    "number_as_key": ("tools", "must be plain JSON", "fix the tool"),
    "remote_ref": ("tools", "$ref that cannot be resolved", "fix the tool"),
    "second_hello": ("tools", "tool 'hello' already belongs to plugin 'hello'", '[rename] "second_hello.hello" ='),
    "slow_import": ("import", "took longer than 2 s", "plugins.import_seconds"),
    "undecorated_hook": (
        "hooks",
        "zapomni_tools has no decorator (broken_undecorated_hook.py:",
        "write @hookimpl above",
    ),
}
RUBBISH = [
    "none",
    "string",
    "no_content",
    "content_of_strings",
    "content_of_wrong_shape",
    "unknown_content",
    "unknown_key",
    "is_error_is_text",
    "not_a_number",
    "an_object",
    "lone_surrogate",
    "empty_resource",
    "annotations_are_text",
    "number_as_key",
    "circle",
]
NOISE = ["printed", "written", "written to the descriptor", "echoed by a child"]
NOT_EXCEPTIONS = ["own", "system_exit", "keyboard_interrupt", "generator_exit", "cancelled"]


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    file = tmp_path_factory.mktemp("settings") / "zapomni.toml"
    file.write_text(SETTINGS)
    return {"ZAPOMNI_CONFIG": str(file), **LIMITS}


@pytest.fixture(scope="module")
def clients(broken_environment, variables, tmp_path_factory):
    """A client of each era with its server. Both servers wait for the slow plugins at the same time."""

    def connect_in(era):
        folder = tmp_path_factory.mktemp(era)
        env = environment(folder / "home", **variables)
        command = [broken_environment / "zapomni", "serve"]
        return stack.enter_context(connect(command, era, env=env, cwd=folder, log=folder / "server.log"))

    with ExitStack() as stack:
        with ThreadPoolExecutor() as threads:
            connected = dict(zip(ERAS, threads.map(connect_in, ERAS), strict=True))
        yield connected


@pytest.fixture(params=ERAS)
def client(request, clients):
    return clients[request.param]


@pytest.fixture(scope="module")
def server(broken_environment, variables, start_shared):
    """A server after a whole session on raw pipes. A line that is not a message would have failed it."""
    server = start_shared(broken_environment / "zapomni", "serve", **variables)
    server.initialize()
    server.request_call("never_ready", key="never_ready")
    server.answers = {"hello": server.answer(server.request_call("hello"))}
    for tool in ("noisy", "raising_tool", "blocking_body"):
        server.request_call(tool, key=tool)
    server.request_call("hello", key="meanwhile")
    for key in ("meanwhile", "blocking_body", "raising_tool", "noisy", "never_ready"):
        server.answers[key] = server.answer(key)
    server.request_call("noisy", key="last words")
    server.exit_code = server.close()
    server.answers["last words"] = server.answer("last words")
    return server


@pytest.fixture(scope="module")
def zapomni(broken_environment, variables, tmp_path_factory):
    """Run a command of the environment."""
    folder = tmp_path_factory.mktemp("commands")

    def run(*arguments):
        return subprocess.run(
            [broken_environment / "zapomni", *arguments],
            env=environment(folder, **variables),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.fixture(scope="module")
def reports(zapomni):
    """The entries of `zapomni plugins --json` by name."""
    return {plugin["name"]: plugin for plugin in json.loads(zapomni("plugins", "--json").stdout)["plugins"]}


class TestClient:
    """A real client, in both eras of the protocol."""

    def test_a_list_change_announces_that_a_plugin_was_withdrawn(self, client):
        assert client.wait_for_list_change()
        assert "never_ready" not in client.tools()

    def test_exactly_the_tools_of_working_plugins_are_listed(self, client):
        client.wait_for_list_change()
        assert set(client.tools()) == GOOD_TOOLS

    def test_of_two_tools_with_one_name_the_first_is_served(self, client):
        assert client.tools()["hello"].meta == {"zapomni/plugin": "hello"}
        assert client.call("hello", {"name": "Ada"}).content[0].text == "Hello, Ada!"

    def test_a_good_tool_keeps_state_reports_progress_and_follows_its_output_schema(self, client):
        steps = []

        async def note(done, total, message):
            steps.append((done, total, message))

        before = client.call("count", {"steps": 1}).structured_content["count"]
        after = client.call("count", {"steps": 2}, progress_callback=note)
        assert after.structured_content == {"count": before + 2}
        assert steps == [(1, 2, f"at {before + 1}"), (2, 2, f"at {before + 2}")]

    def test_a_wrong_argument_is_an_error_even_if_the_output_schema_allows_none(self, client):
        result = client.call("count", {"steps": 0})
        assert result.is_error
        assert result.structured_content is None
        assert result.content[0].text.startswith("Error: steps must be at least 1")
        assert_error(result.meta["zapomni/error"], "validation", "INVALID_ARGUMENTS", 400, recoverable=True)

    def test_a_tool_that_writes_to_standard_output_works(self, client):
        assert client.call("noisy").content[0].text == "quiet"

    def test_an_exception_is_an_error_result_without_its_text(self, client):
        result = client.call("raising_tool")
        assert result.is_error
        assert "secret" not in result.model_dump_json()
        assert_error(result.structured_content, "internal", "INTERNAL_ERROR", 500)
        assert "secret /home/x/password" in client.log.read_text()

    @pytest.mark.parametrize("kind", NOT_EXCEPTIONS)
    def test_a_base_exception_is_an_error_result(self, client, kind):
        result = client.call("raises_base_exception", {"kind": kind})
        assert result.is_error
        assert "secret" not in result.model_dump_json()
        assert_error(result.structured_content, "internal", "INTERNAL_ERROR", 500)

    @pytest.mark.parametrize("kind", RUBBISH)
    def test_an_invalid_result_is_an_error_result(self, client, kind):
        result = client.call("rubbish_result", {"kind": kind})
        assert result.is_error
        assert_error(result.structured_content, "internal", "INVALID_RESULT", 500)

    def test_a_call_that_never_returns_is_ended_at_its_limit(self, client):
        result = client.call("never_returns")
        assert result.is_error
        assert_error(result.structured_content, "timeout", "TIMEOUT", 503, recoverable=True)

    def test_a_tool_of_a_plugin_that_failed_is_unknown(self, client):
        with pytest.raises(MCPError) as caught:
            client.call("bad_schema")
        assert caught.value.error.code == -32602


class TestRawPipes:
    """The messages on raw pipes, and the log."""

    def test_other_tools_are_served_during_a_slow_import(self, server):
        assert text_of(server.answers["hello"]["result"]) == "Hello, world!"
        assert server.logged("plugin_failed", plugin="slow_import")["cause"].endswith("took longer than 2 s")

    def test_a_call_that_waits_for_a_failing_lifespan_is_refused(self, server):
        result = server.answers["never_ready"]["result"]
        assert result["isError"]
        assert_error(result["structuredContent"], "plugin", "PLUGIN_UNAVAILABLE", 503)
        assert "plugin 'hanging_lifespan' could not start" in text_of(result)

    def test_a_blocking_tool_delays_other_calls_and_is_named_in_the_log(self, server):
        assert text_of(server.answers["meanwhile"]["result"]) == "Hello, world!"
        assert text_of(server.answers["blocking_body"]["result"]) == "done at last"
        record = server.logged("event_loop_blocked")
        assert any(one.startswith("tool 'blocking_body' of plugin 'blocking_body'") for one in record["running"])

    def test_what_plugins_print_goes_to_standard_error(self, server):
        assert text_of(server.answers["noisy"]["result"]) == "quiet"
        for noise in NOISE:
            for when in ("at import", "in a call"):
                assert f"{noise} {when}" in server.log_text()

    def test_no_secret_is_sent_to_the_client(self, server):
        assert server.answers["raising_tool"]["result"]["isError"]
        assert "secret" not in json.dumps([server.answers, server.messages])

    def test_a_call_before_the_end_of_input_is_answered_and_the_server_exits_with_0(self, server):
        assert text_of(server.answers["last words"]["result"]) == "quiet"
        assert server.exit_code == 0

    @pytest.mark.parametrize("plugin", FAILURES)
    def test_each_failure_is_logged_with_stage_cause_and_fix(self, server, plugin):
        stage, cause, fix = FAILURES[plugin]
        record = server.logged("plugin_failed", plugin=plugin)
        assert record["stage"] == stage
        assert cause in record["cause"]
        assert fix in record["fix"]


class TestReport:
    """The report of `zapomni plugins`."""

    def test_exactly_the_installed_plugins_are_found(self, zapomni):
        found = json.loads(zapomni("plugins", "--no-load", "--json").stdout)["plugins"]
        installed = {plugin["name"] for plugin in found if not plugin["bundled"]}
        assert installed == FAILURES.keys() | GOOD_TOOLS - {"count", "noisy"} | {
            "good_counter",
            "hanging_lifespan",
            "prints_at_import",
        }

    @pytest.mark.parametrize("plugin", FAILURES)
    def test_a_failure_is_reported_with_stage_cause_and_fix(self, reports, plugin):
        stage, cause, fix = FAILURES[plugin]
        report = reports[plugin]
        assert (report["state"], report["stage"], report["tools"]) == ("failed", stage, [])
        assert cause in report["cause"]
        assert fix in report["fix"]

    def test_a_lifespan_that_never_gets_ready_is_a_failure(self, reports):
        report = reports["hanging_lifespan"]
        assert (report["state"], report["stage"], report["tools"]) == ("failed", "lifespan", [])
        assert report["cause"] == "its lifespan was not ready after 2 s"
        assert "zapomni plugins disable hanging_lifespan" in report["fix"]

    def test_all_others_are_loaded(self, reports):
        loaded = {name for name, report in reports.items() if report["state"] == "loaded"}
        assert loaded >= {"blocking_body", "good_counter", "hello", "never_returns", "prints_at_import"}
        assert reports["good_counter"]["tools"] == ["count"]


def assert_error(record, kind, code, status, *, recoverable=False):
    """Check the structured error."""
    assert record["status"] == "error"
    assert (record["error_type"], record["error_code"], record["status_code"]) == (kind, code, status)
    assert record["recoverable"] is recoverable
    assert record["message"]
    assert record["processing_time_ms"] >= 0
