import asyncio
import json

import pytest
from click.testing import CliRunner
from zapomni_plugin_sessions import zapomni_commands
from zapomni_plugin_sessions.commands import make_gaps
from zapomni_plugin_sessions.gaps import recorded, workspace_of

from zapomni_core import Settings
from zapomni_core.plugin import MemoryEngine, MemoryNotFoundError
from zapomni_core.plugin.sessions import MemoryManager
from zapomni_core.testing import HashingEmbedder

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

    def run(reports, *options, workspace="default"):
        asyncio.run(report(*reports))
        engine = new_engine(workspace)
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

    def new_engine(workspace="default"):
        settings = {"store": f"sqlite://{tmp_path}/memory.db", "workspace": workspace}
        return MemoryEngine(Settings.model_validate(settings), embedder=HashingEmbedder())

    return run


async def test_a_gap_is_kept_where_no_search_for_memories_meets_it(app, ask):
    told = await ask("report_tool_gap", **REPORT)
    assert (await app.app.engine.search_memory("launch")).hits == ()
    kept = await app.app.engine.in_workspace(workspace_of("default")).get_memory(told["gap_id"])
    assert kept.metadata == {"source": "report_tool_gap", "report": REPORT}


@pytest.mark.parametrize("blank", [{"missing_tools": ["fly", " "]}, {"attempted_task": "\n"}], ids=["tool", "task"])
async def test_a_blank_report_is_refused(problem, blank):
    (field,) = blank
    assert await problem("report_tool_gap", **{**REPORT, **blank}) == f"{field} cannot be empty or whitespace-only"


async def test_a_gap_without_a_tool_is_refused(problem):
    assert (
        await problem("report_tool_gap", **{**REPORT, "missing_tools": []}) == "missing_tools must have at least 1 item"
    )


def test_gaps_are_listed_newest_first_and_obey_no_terminal(gaps):
    lines = [line for line in gaps([REPORT, BRIEF]).output.splitlines() if not line.startswith("  id: ")]
    assert [line[len("2026-11-16 12:00") :] for line in lines[:2]] == [
        "  fly, swim: Cross the sea",
        "  send_email: Write to Ada [31m about the launch",
    ]
    assert lines[2:] == ["  checked: add_memory, hello", "  proposed: mail"]


def test_gaps_belong_to_their_workspace(gaps):
    assert gaps([REPORT], workspace="another").output == "No gaps: no agent has reported one.\n"
    assert gaps([], workspace="x" * 64).output == "No gaps: no agent has reported one.\n"
    assert "send_email" in gaps([]).output


def test_a_gap_can_be_forgotten(gaps):
    (gap,) = json.loads(gaps([REPORT], "--json").output)["gaps"]
    told = gaps([], "--forget", gap["id"]).output
    assert told == "Forgot 1 gap.\nNo gaps: no agent has reported one.\n"


def test_gaps_are_forgotten_together_or_not_at_all(gaps):
    (gap,) = json.loads(gaps([REPORT], "--json").output)["gaps"]
    with pytest.raises(MemoryNotFoundError, match=r"^there is no gap nosuch here: nothing was forgotten$"):
        gaps([], "--forget", gap["id"], "--forget", "nosuch")
    assert gap["id"] in gaps([]).output
    gaps([], "--forget", gap["id"])
    with pytest.raises(MemoryNotFoundError, match=f"^there is no gap {gap['id']} here"):
        gaps([], "--forget", gap["id"])


async def test_other_memories_are_not_listed_as_gaps(app, ask):
    await ask("report_tool_gap", **REPORT)
    there = MemoryManager(app.app.engine.in_workspace(workspace_of("default")))
    await there.store_document("x", {"source": "report_tool_gap"})
    await there.store_document("x", {"source": "report_tool_gap", "report": {"missing_tools": 1}})
    assert [gap.report.missing_tools for gap in await recorded(app.app.engine, 10)] == [["send_email"]]


async def test_the_data_of_an_unknown_tool_is_taken_as_it_is(app, ask):
    await ask("report_tool_gap", **BRIEF, nearest_tools=["hello"])
    (gap,) = await recorded(app.app.engine, 10)
    assert gap.report.model_dump(exclude_none=True) == BRIEF


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
def test_an_empty_list_of_gaps_says_so(gaps, option, told):
    assert gaps([], *option).output == told


def test_the_plugin_offers_the_command():
    (command,) = zapomni_commands(engine=MemoryEngine())
    assert command.name == "gaps"
