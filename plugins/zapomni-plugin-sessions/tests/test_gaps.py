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
    """Records the reports in the given order, then runs `zapomni gaps` on their store."""

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


async def test_a_gap_is_stored_where_memory_search_does_not_find_it(app, ask):
    record = await ask("report_tool_gap", **REPORT)
    assert (await app.app.engine.search_memory("launch")).hits == ()
    kept = await app.app.engine.in_workspace(workspace_of("default")).get_memory(record["gap_id"])
    assert kept.metadata == {"source": "report_tool_gap", "report": REPORT}


@pytest.mark.parametrize("blank", [{"missing_tools": ["fly", " "]}, {"attempted_task": "\n"}], ids=["tool", "task"])
async def test_a_report_with_a_blank_field_is_rejected(problem, blank):
    (field,) = blank
    assert await problem("report_tool_gap", **{**REPORT, **blank}) == f"{field} cannot be empty or whitespace-only"


async def test_a_report_without_a_missing_tool_is_rejected(problem):
    assert (
        await problem("report_tool_gap", **{**REPORT, "missing_tools": []}) == "missing_tools must have at least 1 item"
    )


def test_gaps_are_listed_newest_first_without_control_characters(gaps):
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
    output = gaps([], "--forget", gap["id"]).output
    assert output.splitlines()[0] == "Forgot 1 gap."
    assert gap["id"] not in output


def test_one_unknown_id_prevents_forgetting_any_gap(gaps):
    (gap,) = json.loads(gaps([REPORT], "--json").output)["gaps"]
    with pytest.raises(MemoryNotFoundError, match="nosuch"):
        gaps([], "--forget", gap["id"], "--forget", "nosuch")
    assert gap["id"] in gaps([]).output
    gaps([], "--forget", gap["id"])
    with pytest.raises(MemoryNotFoundError, match=gap["id"]):
        gaps([], "--forget", gap["id"])


async def test_other_memories_are_not_listed_as_gaps(app, ask):
    await ask("report_tool_gap", **REPORT)
    there = MemoryManager(app.app.engine.in_workspace(workspace_of("default")))
    await there.store_document("x", {"source": "report_tool_gap"})
    await there.store_document("x", {"source": "report_tool_gap", "report": {"missing_tools": 1}})
    assert [gap.report.missing_tools for gap in await recorded(app.app.engine, 10)] == [["send_email"]]


async def test_nearest_tools_are_accepted_but_not_stored(app, ask):
    await ask("report_tool_gap", **BRIEF, nearest_tools=["hello"])
    (gap,) = await recorded(app.app.engine, 10)
    assert gap.report.model_dump(exclude_none=True) == BRIEF


def test_json_output_has_all_reported_fields(gaps):
    newest, oldest = json.loads(gaps([REPORT, BRIEF], "--json").output)["gaps"]
    assert {key: oldest[key] for key in REPORT} == REPORT
    assert newest["proposed_mcp_server"] is None
    assert newest["recorded_at"] >= oldest["recorded_at"]
    assert newest["id"] != oldest["id"]


def test_the_limit_option_limits_the_listed_gaps(gaps):
    assert "fly, swim" in (output := gaps([REPORT, BRIEF], "--limit", "1").output)
    assert "send_email" not in output


@pytest.mark.parametrize(
    ("option", "output"),
    [((), "No gaps: no agent has reported one.\n"), (("--json",), '{\n  "gaps": []\n}\n')],
    ids=["text", "json"],
)
def test_an_empty_list_of_gaps_says_so(gaps, option, output):
    assert gaps([], *option).output == output


def test_the_plugin_offers_the_command():
    (command,) = zapomni_commands(engine=MemoryEngine())
    assert command.name == "gaps"
