"""The plugins hello and audit as a real client meets them, over real stdio, in both eras of the protocol."""

import json
from importlib.metadata import version

import pytest
from mcp import MCPError

from tests.e2e.visiting import ERAS, visiting
from tests.e2e.wire import ZAPOMNI, environment

pytestmark = pytest.mark.xdist_group("guests")

MODERN = "2026-07-28"


@pytest.fixture(scope="module", params=ERAS)
def visitor(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("visit")
    variables = {
        "ZAPOMNI_PLUGINS__AUDIT__FILE": str(folder / "audit.jsonl"),
        "ZAPOMNI_PLUGINS__HELLO__GREETING": "Privet",
    }
    env = environment(folder / "home", **variables)
    with visiting([ZAPOMNI], request.param, env=env, cwd=folder, log=folder / "server.log") as visitor:
        visitor.era = request.param
        visitor.audit_file = folder / "audit.jsonl"
        yield visitor


@pytest.fixture
def new_lines(visitor):
    """What was written to the audit file since the test began."""
    before = len(audited(visitor))
    return lambda: audited(visitor)[before:]


def audited(visitor):
    return [json.loads(line) for line in visitor.audit_file.read_text().splitlines()]


def test_each_era_gets_its_own_protocol(visitor):
    assert (visitor.client.protocol_version == MODERN) is (visitor.era == "auto")


def test_the_server_says_what_it_is_and_how_to_use_it(visitor):
    info = visitor.client.server_info
    assert (info.name, info.title, info.version) == ("zapomni", "Zapomni", version("zapomni"))
    assert "long-term memory" in visitor.client.instructions
    assert visitor.client.server_capabilities.tools is not None


def test_hello_is_listed_with_all_that_its_author_wrote_and_with_its_owner(visitor):
    hello = visitor.tools()["hello"]
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


def test_hello_greets_with_the_word_that_the_user_chose(visitor):
    assert visitor.call("hello", {"name": "Ада"}).content[0].text == "Privet, Ада!"


def test_a_list_may_be_kept_for_a_while_by_clients_that_know_how(visitor):
    listed = visitor.list()
    expected = (60_000, "private") if visitor.era == "auto" else (None, None)
    hints = listed.model_dump(exclude_unset=True)
    assert (hints.get("ttl_ms"), hints.get("cache_scope")) == expected


def test_every_call_leaves_one_line_in_the_audit_file_whatever_became_of_it(visitor, new_lines):
    visitor.call("hello", {"name": "somebody's secret"})
    visitor.call("hello", {"nme": "somebody's secret"})
    with pytest.raises(MCPError):
        visitor.call("forget_everything")
    assert [(line["tool"], line["plugin"], line["outcome"]) for line in new_lines()] == [
        ("hello", "hello", "ok"),
        ("hello", "hello", "error"),
        ("(unknown)", "", "UnknownToolError"),
    ]
    assert "secret" not in visitor.audit_file.read_text()


def test_many_calls_at_once_are_all_answered_and_each_is_audited(visitor, new_lines):
    calls = [visitor.start_call("hello", {"name": str(number)}) for number in range(50)]
    assert [call.result(30).content[0].text for call in calls] == [f"Privet, {number}!" for number in range(50)]
    assert len(new_lines()) == 50
