"""The audit log of a running server: rotated, removed, or a path that cannot be written."""

import json
import os

import pytest

from tests.e2e.stdio_server import ZAPOMNI, text_of


@pytest.fixture
def file(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture
def serve(start, file):
    def serve(**variables):
        server = start(ZAPOMNI, "serve", **{"ZAPOMNI_PLUGINS__AUDIT__FILE": str(file)} | variables)
        server.initialize()
        return server

    return serve


def tools(file):
    return [json.loads(line)["tool"] for line in file.read_text().splitlines()]


def test_lines_go_to_a_new_file_after_rotation(serve, file):
    server = serve()
    server.call("hello")
    old = file.rename(file.with_suffix(".1"))
    server.call("hello")
    server.call("get_stats")
    assert (tools(old), tools(file)) == (["hello"], ["hello", "get_stats"])


def test_lines_go_to_a_new_file_after_removal(serve, file):
    server = serve()
    server.call("hello")
    file.unlink()
    server.call("get_stats")
    assert tools(file) == ["get_stats"]


def make_device(path):
    path.symlink_to(os.devnull)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, make_device], ids=["fifo", "directory", "device"])
def test_calls_are_refused_if_the_audit_path_is_not_a_regular_file(serve, file, make):
    make(file)
    server = serve()
    result = server.call("hello")
    assert result["isError"]
    assert "'audit'" in text_of(result)
    assert str(file) not in text_of(result)
    cause = server.logged("plugin_withdrawn", plugin="audit")["cause"]
    assert "Not a regular file" in cause
    assert str(file) in cause


def test_calls_pass_with_a_warning_if_failures_are_allowed(serve, file):
    server = serve(ZAPOMNI_PLUGINS__AUDIT__ON_FAILURE="allow")
    server.call("hello")
    file.unlink()
    file.mkdir()
    assert text_of(server.call("hello")) == "Hello, world!"
    record = server.logged("audit_line_not_written", tool="hello")
    assert (record["level"], str(file) in record["cause"]) == ("warning", True)
