import asyncio
import json

import pytest
from click.testing import CliRunner
from zapomni_plugin_sessions import zapomni_commands
from zapomni_plugin_sessions.commands import make_gaps
from zapomni_plugin_sessions.gaps import WORKSPACE

from zapomni_core.plugin import MemoryEngine
from zapomni_core.settings import Settings

REPORT = {
    "missing_tools": ["send_email"],
    "attempted_task": "Write to Ada\x1b[31m about\nthe launch",
    "existing_tools_checked": ["add_memory", "hello"],
    "proposed_mcp_server": "mail",
}
BRIEF = {"missing_tools": ["fly", "swim"], "attempted_task": "Cross the sea", "existing_tools_checked": []}


@pytest.fixture
def gaps(tmp_path):
    """Runs `zapomni gaps` over a store of its own, in which reports were recorded in this order."""

    def run(reports, *options):
        asyncio.run(report(*reports))
        engine = new_engine()
        try:
            return CliRunner().invoke(make_gaps(engine), options, catch_exceptions=False)
        finally:
            asyncio.run(engine.close())

    async def report(*reports):
        from zapomni_plugin_sessions.tools.report_tool_gap import ReportToolGapTool

        engine = new_engine()
        for one in reports:
            await ReportToolGapTool(engine, 3).execute(one)
        await engine.close()

    def new_engine():
        return MemoryEngine(Settings.model_validate({"store": f"sqlite://{tmp_path}/memory.db"}))

    return run


async def test_a_gap_is_kept_where_no_search_for_memories_meets_it(app, ask):
    told = await ask("report_tool_gap", **REPORT)
    assert (await app.app.engine.search_memory("launch")).hits == ()
    kept = await app.app.engine.in_workspace(WORKSPACE).get_memory(told["gap_id"])
    assert kept.metadata == {"source": "report_tool_gap", "report": REPORT}


async def test_a_gap_without_a_tool_is_refused(problem):
    assert (
        await problem("report_tool_gap", **{**REPORT, "missing_tools": []})
        == "missing_tools must have at least 1 items"
    )


def test_gaps_are_listed_newest_first_and_obey_no_terminal(gaps):
    lines = gaps([REPORT, BRIEF]).output.splitlines()
    assert [line[len("2026-11-16 12:00") :] for line in lines[:2]] == [
        "  fly, swim: Cross the sea",
        "  send_email: Write to Ada [31m about the launch",
    ]
    assert lines[2:] == ["  checked: add_memory, hello", "  proposed: mail"]


def test_gaps_as_json_have_all_that_was_reported(gaps):
    newest, oldest = json.loads(gaps([REPORT, BRIEF], "--json").output)["gaps"]
    assert {key: oldest[key] for key in REPORT} == REPORT
    assert newest["proposed_mcp_server"] is None
    assert newest["recorded_at"] >= oldest["recorded_at"]
    assert newest["id"] != oldest["id"]


def test_at_most_so_many_gaps_are_listed_as_asked_for(gaps):
    assert "fly, swim" in (output := gaps([REPORT, BRIEF], "--limit", "1").output)
    assert "send_email" not in output


@pytest.mark.parametrize(
    ("option", "told"),
    [((), "No gaps: no agent has reported one.\n"), (("--json",), '{\n  "gaps": []\n}\n')],
    ids=["text", "json"],
)
def test_where_there_are_no_gaps_that_is_said(gaps, option, told):
    assert gaps([], *option).output == told


def test_the_plugin_offers_the_command():
    (command,) = zapomni_commands(engine=MemoryEngine())
    assert command.name == "gaps"
