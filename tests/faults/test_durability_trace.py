"""A memory is synced to the disk before its answer is sent, with group commit too. A kill cannot show that."""

import re
import shutil
import subprocess

import pytest

from tests.e2e.stdio_server import ZAPOMNI, start_servers
from tests.faults.server_checks import ask, fact

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")

ONE_BY_ONE, TOGETHER = 3, 8
TRACED = "trace=read,write,pwrite64,fsync,fdatasync"
REQUEST = re.compile(r'\\"id\\": (\d+), \\"method\\": \\"tools/call\\"')
ANSWER = re.compile(r'\{\\"jsonrpc\\":\\"2\.0\\",\\"id\\":(\d+),(?:(?!\\"jsonrpc\\").)*chunks_created')
SYNCED = re.compile(r"(?:fsync|fdatasync)(?:\(\d+\)| resumed>\)) += 0")


def strace(log, *command):
    return ["strace", "-f", "-s", "65536", "-e", TRACED, "-o", str(log), *command]


@pytest.fixture
def trace(tmp_path):
    """A server whose system calls are traced, and the trace."""
    log = tmp_path / "trace"
    if subprocess.run(strace(log, "true"), check=False, capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    with start_servers(tmp_path) as start:
        yield start(*strace(log, ZAPOMNI, "serve")), log


def events_of(lines):
    """The reads of requests, the writes and syncs of the store, and the answers, in order."""
    for line in lines:
        if " read(" in line or " read resumed" in line:
            yield from (("request", int(key)) for key in REQUEST.findall(line))
        elif " write(" in line and (answered := ANSWER.findall(line)):  # one write may hold several
            yield from (("answer", int(key)) for key in answered)
        elif "pwrite64(" in line:
            yield "written", 0
        elif SYNCED.search(line):
            yield "synced", 0


def undurable(events):
    """The answers without a write and a sync since their request was read; and all answers."""
    progress, early, answered = {}, [], []
    for event, key in events:
        if event == "request":
            progress[key] = "asked"
        elif event == "written":
            progress = {one: "written" if state == "asked" else state for one, state in progress.items()}
        elif event == "synced":
            progress = {one: "synced" if state == "written" else state for one, state in progress.items()}
        else:
            answered.append(key)
            early += [key] if progress.pop(key) != "synced" else []
    return early, answered


def test_an_answer_without_a_sync_is_found():
    asked = [("request", 1), ("request", 2), ("written", 0)]
    assert undurable([*asked, ("answer", 1), ("synced", 0), ("answer", 2)]) == ([1], [1, 2])
    assert undurable([("written", 0), ("request", 1), ("synced", 0), ("answer", 1)]) == ([1], [1])
    assert undurable([*asked, ("synced", 0), ("answer", 2), ("answer", 1)]) == ([], [2, 1])


def test_every_add_is_on_the_disk_before_it_is_acknowledged(trace):
    server, log = trace
    server.initialize()
    ask(server, "add_memory", text=fact("first", 0))  # makes the file and loads the embedder
    for number in range(ONE_BY_ONE):
        ask(server, "add_memory", text=fact("one", number))
    keys = [server.request_call("add_memory", {"text": fact("many", number)}) for number in range(TOGETHER)]
    assert not any(server.answer(key)["result"]["isError"] for key in keys)
    assert server.close() == 0
    early, answered = undurable(events_of(log.read_text(errors="replace").splitlines()))
    assert len(answered) == 1 + ONE_BY_ONE + TOGETHER
    assert early == []
