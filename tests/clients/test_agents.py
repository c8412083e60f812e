"""Agents from npm connect, and their model is offered the tools. The model is a local stand-in. Run by `make clients`."""

import json

import pytest

from tests.clients.conftest import ZAPOMNI, programs_of

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

TOOLS = ("add_memory", "search_memory", "list_memories", "add_facts", "store_message", "hello")
INSTRUCTIONS = "Call search_memory before answering"


def offered(model):
    """What a model would have been asked last; at least once."""
    assert model.requests
    return max(model.requests, key=len)


def test_claude_code(run, model):
    claude = programs_of("claude-code", "@anthropic-ai/claude-code") / "claude"
    assert run(claude, "mcp", "add", "-s", "user", "zapomni", "--", ZAPOMNI)[0] == 0
    assert "Connected" in run(claude, "mcp", "list")[1]
    # On a busy machine it would ask its model before it has the tools.
    patience = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000"}
    run(claude, "-p", "hello", ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="none", **patience)
    request = offered(model)
    assert [name for name in TOOLS if f"mcp__zapomni__{name}" not in request] == []
    assert INSTRUCTIONS in request
    eager = {tool["name"] for tool in json.loads(request)["tools"] if "input_schema" in tool}
    assert {"mcp__zapomni__add_memory", "mcp__zapomni__search_memory"} <= eager


def test_codex(run, model):
    codex = programs_of("codex", "@openai/codex") / "codex"
    assert run(codex, "mcp", "add", "zapomni", "--", ZAPOMNI)[0] == 0
    assert '"name": "zapomni"' in run(codex, "mcp", "list", "--json")[1]
    provider = f'model_providers.local={{name="local",base_url="{model.url}/v1",wire_api="responses"}}'
    # Without `required` it asks the model 1.2 s after the start, with whatever tools are there by then.
    settings = ["mcp_servers.zapomni.required=true", "model_provider=local", provider, "model=any"]
    run(codex, "exec", "--skip-git-repo-check", *[part for one in settings for part in ("-c", one)], "hello")
    request = offered(model)
    assert [name for name in TOOLS if name not in request] == []
    assert INSTRUCTIONS in request


def test_gemini_cli(run, model, home):
    gemini = programs_of("gemini-cli", "@google/gemini-cli") / "gemini"
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    assert run(gemini, "mcp", "add", "-s", "user", "zapomni", ZAPOMNI, **trusted)[0] == 0
    assert "Connected" in run(gemini, "mcp", "list", **trusted)[1]
    settings = home / ".gemini" / "settings.json"
    chosen = json.loads(settings.read_text()) | {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(chosen))
    more = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url} | trusted
    run(gemini, "--approval-mode", "yolo", "-p", "hello", **more)
    request = offered(model)
    assert [name for name in TOOLS if f"mcp_zapomni_{name}" not in request] == []
    assert INSTRUCTIONS in request


def test_opencode(run, model, home):
    opencode = programs_of("opencode", "opencode-ai") / "opencode"
    settings = home / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
        "models": {"any": {}},
    }
    server = {"type": "local", "command": [ZAPOMNI]}
    chosen = {"model": "local/any", "provider": {"local": provider}, "mcp": {"zapomni": server}}
    settings.write_text(json.dumps(chosen))
    assert "connected" in run(opencode, "mcp", "list")[1]
    run(opencode, "run", "hello")
    request = offered(model)
    assert [name for name in TOOLS if f"zapomni_{name}" not in request] == []
    assert INSTRUCTIONS in request


def test_qwen_code(run, model):
    qwen = programs_of("qwen-code", "@qwen-code/qwen-code") / "qwen"
    assert run(qwen, "mcp", "add", "-s", "user", "zapomni", ZAPOMNI)[0] == 0
    assert "Connected" in run(qwen, "mcp", "list")[1]
    more = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_MODEL": "any"}
    run(qwen, "--auth-type", "openai", "--approval-mode", "yolo", "-p", "hello", **more)
    request = offered(model)
    assert [name for name in TOOLS if f"mcp__zapomni__{name}" not in request] == []
