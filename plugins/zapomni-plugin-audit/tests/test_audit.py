import asyncio
import json
import os
import resource

import pytest
import zapomni_plugin_audit

from zapomni_core import ConfigurationError
from zapomni_core.plugin import ToolError, UnknownToolError, hookimpl, tool
from zapomni_core.testing import PluginContract, running, text_of

SECRET = "the launch code is 0000"


class Sample:
    """A second plugin whose calls are audited."""

    def __init__(self):
        self.started = asyncio.Event()

    @hookimpl
    def zapomni_tools(self):
        @tool
        async def keep(text: str) -> str:
            """Keep a confidential text."""
            return f"kept {text}"

        @tool
        async def refuse(text: str) -> str:
            """Refuse a confidential text."""
            raise ToolError(f"no: {text}")

        @tool
        async def wait() -> str:
            """Wait until the call is cancelled."""
            self.started.set()
            await asyncio.Event().wait()
            return ""

        return [keep, refuse, wait]


class TestContract(PluginContract):
    plugin = zapomni_plugin_audit
    name = "audit"


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "new" / "audit.jsonl"


@pytest.fixture
def audited(journal):
    def open_app(sample):
        return running(zapomni_plugin_audit, sample, settings={"plugins": {"audit": {"file": str(journal)}}})

    return open_app


def lines(journal):
    return [json.loads(line) for line in journal.read_text().splitlines()]


async def test_every_call_writes_one_line_with_tool_duration_and_outcome(audited, journal):
    async with audited(Sample()) as app:
        await app.call("keep", {"text": SECRET})
        await app.call("refuse", {"text": SECRET})
        await app.call("keep", {"txt": SECRET})
    assert [(line["tool"], line["outcome"]) for line in lines(journal)] == [
        ("keep", "ok"),
        ("refuse", "error"),
        ("keep", "error"),
    ]
    assert all(
        line["ms"] > 0 and line["time"].endswith("+00:00") and line["plugin"] == "sample" for line in lines(journal)
    )


async def test_arguments_results_and_error_texts_are_not_written(audited, journal):
    async with audited(Sample()) as app:
        await app.call("keep", {"text": SECRET})
        await app.call("refuse", {"text": SECRET})
        with pytest.raises(UnknownToolError):
            await app.call(SECRET)
    assert "0000" not in journal.read_text()
    assert lines(journal)[-1] | {"time": 0, "ms": 0} == {
        "time": 0,
        "tool": "(unknown)",
        "plugin": "",
        "ms": 0,
        "outcome": "UnknownToolError",
    }


async def test_a_cancelled_call_is_recorded_as_cancelled(audited, journal):
    sample = Sample()
    async with audited(sample) as app:
        call = asyncio.create_task(app.call("wait"))
        await sample.started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert [line["outcome"] for line in lines(journal)] == ["cancelled"]


async def test_lines_are_appended_to_a_file_that_only_its_owner_can_read(audited, journal):
    for _ in range(2):
        async with audited(Sample()) as app:
            await app.call("keep", {"text": "x"})
    assert len(lines(journal)) == 2
    assert journal.stat().st_mode & 0o777 == 0o600


async def test_a_relative_file_is_rejected_with_its_settings_key():
    settings = {"plugins": {"audit": {"file": "audit.jsonl"}}}
    with pytest.raises(ConfigurationError, match=r"plugins\.audit\.file.*absolute"):
        async with running(zapomni_plugin_audit, settings=settings):
            raise AssertionError("it started")


async def test_a_call_is_refused_while_the_file_cannot_be_appended_to(audited, journal, tmp_path):
    async with audited(Sample()) as app:
        journal.parent.rename(tmp_path / "away")
        refused = await app.call("keep", {"text": "x"})
        (tmp_path / "away").rename(journal.parent)
        kept = await app.call("keep", {"text": "x"})
    assert refused["structuredContent"]["error_code"] == "REFUSED"
    assert "plugins.audit.on_failure" in text_of(refused)
    assert str(tmp_path) not in text_of(refused)
    assert not kept["isError"]
    assert [line["outcome"] for line in lines(journal)] == ["error", "ok"]


async def test_calls_are_refused_while_the_disk_is_full_and_the_failed_line_is_written_later(audited, journal):
    full = 2**24
    journal.parent.mkdir()
    journal.touch()
    os.truncate(journal, full)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with audited(Sample()) as app:
        resource.setrlimit(resource.RLIMIT_FSIZE, (full, unlimited[1]))
        try:
            answers = [await app.call("keep", {"text": "x"}) for _ in range(3)]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        answers.append(await app.call("keep", {"text": "x"}))
    assert [answer["isError"] for answer in answers] == [False, True, True, False]
    written = journal.read_bytes()[full:].decode().splitlines()
    assert [json.loads(line)["outcome"] for line in written] == ["ok", "ok"]


async def test_on_failure_allow_lets_calls_run_without_an_audit_line(journal, tmp_path, caplog):
    settings = {"plugins": {"audit": {"file": str(journal), "on_failure": "allow"}}}
    async with running(zapomni_plugin_audit, Sample(), settings=settings) as app:
        journal.parent.rename(tmp_path / "away")
        answer = await app.call("keep", {"text": "x"})
    assert not answer["isError"]
    [warning] = [record for record in caplog.records if record.name == "zapomni.plugin.audit"]
    assert (warning.levelname, warning.tool) == ("WARNING", "keep")
