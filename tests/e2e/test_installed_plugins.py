"""The plugins hello and audit with a real client over stdio, in both eras of the protocol."""

import json
from importlib.metadata import version

import pytest
from mcp import MCPError

from tests.e2e.mcp_client import ERAS, connect
from tests.e2e.stdio_server import ZAPOMNI, environment

pytestmark = pytest.mark.xdist_group("installed plugins")

MODERN = "2026-07-28"


@pytest.fixture(scope="module", params=ERAS)
def client(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("visit")
    variables = {
        "ZAPOMNI_PLUGINS__AUDIT__FILE": str(folder / "audit.jsonl"),
        "ZAPOMNI_PLUGINS__HELLO__GREETING": "Privet",
    }
    env = environment(folder / "home", **variables)
    with connect([ZAPOMNI], request.param, env=env, cwd=folder, log=folder / "server.log") as client:
        client.era = request.param
        client.audit_file = folder / "audit.jsonl"
        yield client


@pytest.fixture
def new_lines(client):
    """The lines that the test added to the audit file."""
    before = len(audited(client))
    return lambda: audited(client)[before:]


def audited(client):
    return [json.loads(line) for line in client.audit_file.read_text().splitlines()]


def test_each_era_gets_its_own_protocol(client):
    assert (client.sdk.protocol_version == MODERN) is (client.era == "auto")


def test_the_server_says_what_it_is_and_how_to_use_it(client):
    info = client.sdk.server_info
    assert (info.name, info.title, info.version) == ("zapomni", "Zapomni", version("zapomni"))
    assert "long-term memory" in client.sdk.instructions
    assert client.sdk.server_capabilities.tools is not None


def test_hello_is_listed_with_its_metadata_and_plugin(client):
    hello = client.tools()["hello"]
    assert hello.title == "Say hello"
    assert hello.description.startswith("Greet somebody by name.")
    assert hello.annotations.model_dump(exclude_none=True) == {
        "read_only_hint": True,
        "idempotent_hint": True,
        "open_world_hint": False,
    }
    assert hello.meta == {"zapomni/plugin": "hello"}
    assert hello.input_schema["properties"]["name"] == {
        "type": "string",
        "default": "world",
        "description": "Whom to greet.",
    }
    assert hello.input_schema["additionalProperties"] is False


def test_hello_uses_the_greeting_of_the_settings(client):
    assert client.call("hello", {"name": "Ада"}).content[0].text == "Privet, Ада!"


def test_modern_clients_may_cache_the_list_of_tools(client):
    listed = client.list()
    expected = (60_000, "private") if client.era == "auto" else (None, None)
    hints = listed.model_dump(exclude_unset=True)
    assert (hints.get("ttl_ms"), hints.get("cache_scope")) == expected


def test_every_call_adds_one_line_to_the_audit_file(client, new_lines):
    client.call("hello", {"name": "Ada's secret"})
    client.call("hello", {"nme": "Ada's secret"})
    with pytest.raises(MCPError):
        client.call("forget_everything")
    assert [(line["tool"], line["plugin"], line["outcome"]) for line in new_lines()] == [
        ("hello", "hello", "ok"),
        ("hello", "hello", "error"),
        ("(unknown)", "", "UnknownToolError"),
    ]
    assert "secret" not in client.audit_file.read_text()


def test_many_calls_at_once_are_all_answered_and_each_is_audited(client, new_lines):
    calls = [client.start_call("hello", {"name": str(number)}) for number in range(50)]
    assert [call.result(30).content[0].text for call in calls] == [f"Privet, {number}!" for number in range(50)]
    assert len(new_lines()) == 50
