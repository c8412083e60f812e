"""The command line on a FalkorDB server."""

import json

import pytest

from tests.servers import falkordb

pytestmark = pytest.mark.stores


@pytest.fixture
def graph(falkordb_url, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_STORE", falkordb_url)
    return falkordb_url


@pytest.fixture
def risky(tmp_path, monkeypatch):
    """A server that may lose the writes of the last second."""
    with falkordb(tmp_path / "server", "--appendfsync", "everysec") as server:
        monkeypatch.setenv("ZAPOMNI_STORE", server.url())
        yield server


def test_a_memory_is_added_and_found_and_no_file_is_written(graph, run, home):
    assert run("add", "Ada likes green tea").exit_code == 0
    assert "Ada likes green tea" in run("search", "tea").output
    assert not list(home.rglob("*.db"))


def test_stats_show_the_location_without_the_password(graph, run, falkordb_server):
    result = run("stats", "--json")
    stats = json.loads(result.output)
    assert stats["store"] == "falkordb"
    assert stats["location"] == graph.replace(f"default:{falkordb_server.password}@", "")
    assert set(stats["store_details"]) == {"falkordb_version", "redis_version"}
    for command in ("stats", "config", "doctor"):
        assert falkordb_server.password not in run(command).output


def test_doctor_reports_a_working_server(graph, run):
    result = run("doctor", "--json")
    (store,) = [one for one in json.loads(result.output)["findings"] if one["what"] == "store"]
    assert (store["level"], result.exit_code) == ("ok", 0)
    assert "falkordb 4." in store["detail"]


def test_a_server_that_may_lose_memories_is_reported(risky, run):
    assert "everysec" in run("stats").output
    result = run("doctor", "--json")
    found = [one for one in json.loads(result.output)["findings"] if one["what"] == "store"]
    assert [one["level"] for one in found] == ["ok", "warn"]
    assert "everysec" in found[1]["detail"]


def test_an_unreachable_server_is_named_in_the_error(risky, run):
    risky.kill()
    result = run("add", "Ada likes green tea")
    assert result.exit_code == 1
    assert f"{risky.host}:{risky.port}" in result.output
    (store,) = [one for one in json.loads(run("doctor", "--json").output)["findings"] if one["what"] == "store"]
    assert store["level"] == "fail"
