"""Every broken plugin of tests/broken_plugins is installed beside two good ones: what is good is served."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from mcp import MCPError

from tests.e2e.visiting import ERAS, visiting
from tests.e2e.wire import environment, text_of

pytestmark = [pytest.mark.venv, pytest.mark.xdist_group("broken house")]

SETTINGS = """
[plugins]
disable = ["zapomni"]  # only guests

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
def visitors(broken_house, variables, tmp_path_factory):
    """A client of each era with its server. Both wait for the slow plugins at the same time."""

    def connect(era):
        folder = tmp_path_factory.mktemp(era)
        env = environment(folder / "home", **variables)
        command = [broken_house / "zapomni", "serve"]
        return stack.enter_context(visiting(command, era, env=env, cwd=folder, log=folder / "server.log"))

    with ExitStack() as stack:
        with ThreadPoolExecutor() as threads:
            connected = dict(zip(ERAS, threads.map(connect, ERAS), strict=True))
        yield connected


@pytest.fixture(params=ERAS)
def visitor(request, visitors):
    return visitors[request.param]


@pytest.fixture(scope="module")
def visit(broken_house, variables, start_shared):
    """A whole visit on raw pipes, from the start to the end of the output. A line that is no message would fail it."""
    wire = start_shared(broken_house / "zapomni", "serve", **variables)
    wire.initialize()
    wire.request_call("never_ready", key="never_ready")
    wire.answers = {"hello": wire.answer(wire.request_call("hello"))}
    for tool in ("noisy", "raising_tool", "blocking_body"):
        wire.request_call(tool, key=tool)
    wire.request_call("hello", key="meanwhile")
    for key in ("meanwhile", "blocking_body", "raising_tool", "noisy", "never_ready"):
        wire.answers[key] = wire.answer(key)
    wire.request_call("noisy", key="last words")
    wire.exit_code = wire.close()
    wire.answers["last words"] = wire.answer("last words")
    return wire


@pytest.fixture(scope="module")
def zapomni(broken_house, variables, tmp_path_factory):
    """Runs a command in the broken house."""
    folder = tmp_path_factory.mktemp("commands")

    def run(*arguments):
        return subprocess.run(
            [broken_house / "zapomni", *arguments],
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
    """What `zapomni plugins --json` says of each plugin."""
    return {plugin["name"]: plugin for plugin in json.loads(zapomni("plugins", "--json").stdout)["plugins"]}


class TestClient:
    """What a real client sees, in both eras of the protocol."""

    def test_it_is_told_when_the_plugin_that_never_gets_ready_is_withdrawn(self, visitor):
        assert visitor.told_of_a_change()
        assert "never_ready" not in visitor.tools()

    def test_it_sees_exactly_the_tools_of_plugins_that_work(self, visitor):
        visitor.told_of_a_change()
        assert set(visitor.tools()) == GOOD_TOOLS

    def test_the_hello_it_sees_is_that_of_the_plugin_which_came_first(self, visitor):
        assert visitor.tools()["hello"].meta == {"zapomni/plugin": "hello"}
        assert visitor.call("hello", {"name": "Ada"}).content[0].text == "Hello, Ada!"

    def test_a_good_tool_keeps_its_state_reports_progress_and_gives_what_its_schema_promises(self, visitor):
        steps = []

        async def note(done, total, message):
            steps.append((done, total, message))

        before = visitor.call("count", {"steps": 1}).structured_content["count"]
        after = visitor.call("count", {"steps": 2}, progress_callback=note)
        assert after.structured_content == {"count": before + 2}
        assert steps == [(1, 2, f"at {before + 1}"), (2, 2, f"at {before + 2}")]

    def test_a_wrong_argument_is_told_by_field_and_rule_beside_a_schema_that_admits_no_errors(self, visitor):
        result = visitor.call("count", {"steps": 0})
        assert result.is_error
        assert result.structured_content is None
        assert result.content[0].text.splitlines()[0] == "Error: steps must be at least 1"
        assert_error(result.meta["zapomni/error"], "validation", "INVALID_ARGUMENTS", 400, recoverable=True)

    def test_a_tool_that_writes_to_standard_output_works(self, visitor):
        assert visitor.call("noisy").content[0].text == "quiet"

    def test_an_exception_is_an_error_result_that_keeps_its_secrets(self, visitor):
        result = visitor.call("raising_tool")
        assert result.is_error
        assert "secret" not in result.model_dump_json()
        assert_error(result.structured_content, "internal", "INTERNAL_ERROR", 500)
        assert "secret /home/x/password" in visitor.log.read_text()

    @pytest.mark.parametrize("kind", NOT_EXCEPTIONS)
    def test_what_is_no_exception_is_an_error_result_too(self, visitor, kind):
        result = visitor.call("raises_base_exception", {"kind": kind})
        assert result.is_error
        assert "secret" not in result.model_dump_json()
        assert_error(result.structured_content, "internal", "INTERNAL_ERROR", 500)

    @pytest.mark.parametrize("kind", RUBBISH)
    def test_rubbish_in_place_of_a_result_is_an_error_result(self, visitor, kind):
        result = visitor.call("rubbish_result", {"kind": kind})
        assert result.is_error
        assert_error(result.structured_content, "internal", "INVALID_RESULT", 500)

    def test_a_call_that_never_returns_is_ended_at_its_limit(self, visitor):
        result = visitor.call("never_returns")
        assert result.is_error
        assert_error(result.structured_content, "timeout", "TIMEOUT", 503, recoverable=True)

    def test_a_tool_of_a_plugin_that_failed_is_unknown(self, visitor):
        with pytest.raises(MCPError) as caught:
            visitor.call("bad_schema")
        assert caught.value.error.code == -32602


class TestVisit:
    """What goes over raw pipes, and what is logged beside them."""

    def test_others_are_served_while_a_slow_import_is_still_going_on(self, visit):
        assert text_of(visit.answers["hello"]["result"]) == "Hello, world!"
        assert visit.logged("plugin_failed", plugin="slow_import")["cause"].endswith("took longer than 2 s")

    def test_a_call_made_before_the_lifespan_failed_is_told_that_the_plugin_could_not_start(self, visit):
        result = visit.answers["never_ready"]["result"]
        assert result["isError"]
        assert_error(result["structuredContent"], "plugin", "PLUGIN_UNAVAILABLE", 503)
        assert "plugin 'hanging_lifespan' could not start" in text_of(result)

    def test_while_a_tool_blocks_another_call_is_late_but_answered_and_the_log_names_the_tool(self, visit):
        assert text_of(visit.answers["meanwhile"]["result"]) == "Hello, world!"
        assert text_of(visit.answers["blocking_body"]["result"]) == "done at last"
        record = visit.logged("event_loop_blocked")
        assert any(one.startswith("tool 'blocking_body' of plugin 'blocking_body'") for one in record["running"])

    def test_what_plugins_print_goes_to_standard_error(self, visit):
        assert text_of(visit.answers["noisy"]["result"]) == "quiet"
        for noise in NOISE:
            for when in ("at import", "in a call"):
                assert f"{noise} {when}" in visit.log_text()

    def test_no_secret_goes_over_the_wire(self, visit):
        assert visit.answers["raising_tool"]["result"]["isError"]
        assert "secret" not in json.dumps([visit.answers, visit.messages])

    def test_a_call_at_the_very_end_is_answered_and_the_server_ends_in_good_order(self, visit):
        assert text_of(visit.answers["last words"]["result"]) == "quiet"
        assert visit.exit_code == 0

    @pytest.mark.parametrize("plugin", FAILURES)
    def test_each_failure_is_logged_with_its_stage_and_next_step(self, visit, plugin):
        stage, cause, fix = FAILURES[plugin]
        record = visit.logged("plugin_failed", plugin=plugin)
        assert record["stage"] == stage
        assert cause in record["cause"]
        assert fix in record["fix"]


class TestReport:
    """What `zapomni plugins` says of them."""

    def test_exactly_the_plugins_of_this_house_are_found(self, zapomni):
        found = json.loads(zapomni("plugins", "--no-load", "--json").stdout)["plugins"]
        guests = {plugin["name"] for plugin in found if not plugin["bundled"]}
        assert guests == FAILURES.keys() | GOOD_TOOLS - {"count", "noisy"} | {
            "good_counter",
            "hanging_lifespan",
            "prints_at_import",
        }

    @pytest.mark.parametrize("plugin", FAILURES)
    def test_a_failure_is_named_with_stage_cause_and_fix(self, reports, plugin):
        stage, cause, fix = FAILURES[plugin]
        report = reports[plugin]
        assert (report["state"], report["stage"], report["tools"]) == ("failed", stage, [])
        assert cause in report["cause"]
        assert fix in report["fix"]

    def test_the_lifespan_that_is_never_ready_is_named_too(self, reports):
        report = reports["hanging_lifespan"]
        assert (report["state"], report["stage"], report["tools"]) == ("failed", "lifespan", [])
        assert report["cause"] == "its lifespan was not ready after 2 s"
        assert "zapomni plugins disable hanging_lifespan" in report["fix"]

    def test_all_others_are_loaded(self, reports):
        loaded = {name for name, report in reports.items() if report["state"] == "loaded"}
        assert loaded >= {"blocking_body", "good_counter", "hello", "never_returns", "prints_at_import"}
        assert reports["good_counter"]["tools"] == ["count"]


def assert_error(record, kind, code, status, *, recoverable=False):
    """The structured error says the same as the readable text, for programs."""
    assert record["status"] == "error"
    assert (record["error_type"], record["error_code"], record["status_code"]) == (kind, code, status)
    assert record["recoverable"] is recoverable
    assert record["message"]
    assert record["processing_time_ms"] >= 0
