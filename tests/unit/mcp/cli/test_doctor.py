"""`zapomni doctor`: its findings and their fixes."""

import asyncio
import json
import re
import shlex
import sys
from contextlib import closing
from dataclasses import replace

import apsw
import pytest

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.host.registry import ToolRegistry
from zapomni_core.plugin import tool
from zapomni_core.testing.samples import put, sample_chunk, sample_memory, sample_vector
from zapomni_db.records import EmbedderIdentity, VectorWeight
from zapomni_db.sqlite import SQLiteStore
from zapomni_mcp.cli import checks
from zapomni_mcp.cli.checks import check_requirements, check_tool_count

from .conftest import broken, finish

EMBEDDER = DefaultEmbedder().identity
CHECKED = """
class Checked:
    name = "checked"
    description = "A tool with a check of its own."
    input_schema = {"type": "object", "properties": {}, "additionalProperties": False}
    annotations = {"readOnlyHint": True}

    async def execute(self, arguments):
        raise AssertionError

    CHECK

@hookimpl
def zapomni_tools():
    return [Checked()]
"""


@pytest.fixture
def examine(run):
    """Run `zapomni doctor --json`; returns its findings and exit code."""

    def collect(*args):
        result = run("doctor", "--json", *args)
        document = json.loads(result.stdout)
        assert document["ok"] == (result.exit_code == 0)
        assert all(found["fix"] or found["level"] == "ok" for found in document["findings"])
        return document["findings"], result.exit_code

    return collect


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Create the configured store with one memory, embedded as the identity says; returns its path."""

    def make(embedder):
        path = tmp_path / "kept.db"

        async def add():
            store = SQLiteStore(path)
            chunk = sample_chunk("text", vector=sample_vector("text", embedder.dimension))
            await put(store, replace(sample_memory("text", chunk), embedder=embedder), "default")
            await store.close()

        asyncio.run(add())
        monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{path}")
        return path

    return make


@pytest.fixture
def kept_store(keep):
    """A store with one memory, embedded by the default embedder."""
    return keep(EMBEDDER)


def about(findings, what, level=None):
    """The only finding about something."""
    (found,) = [one for one in findings if one["what"] == what and level in (None, one["level"])]
    return found


def test_a_good_installation_passes_every_check(examine):
    findings, code = examine()
    assert code == 0
    assert {found["level"] for found in findings} == {"ok"}
    assert "zapomni 0.1.0, mcp 2" in about(findings, "packages")["detail"]
    assert "0.1.0, 1 tool" in about(findings, "plugin hello")["detail"]


def test_deleted_memories_that_are_kept_are_counted(examine, run, kept_store):
    (memory,) = json.loads(run("list", "--json").stdout)["memories"]
    assert run("delete", memory["id"]).exit_code == 0
    findings, code = examine()
    assert code == 0
    assert "1 in workspace 'default'" in about(findings, "deleted memories", "ok")["detail"]


def test_the_findings_are_readable_in_80_columns(run):
    result = run("doctor", "--plugin", broken("import_error"))
    assert result.exit_code == 1
    assert "fail  plugin broken_import_error: failed at import" in result.stdout
    assert "      fix: " in result.stdout
    assert re.search(r"^2 checks failed, \d+ checks passed$", result.stdout, re.MULTILINE)
    lines = result.stdout.splitlines()
    assert all(len(line) <= 80 or "fix: " in line or len(line.split()[0]) > 74 for line in lines)


@pytest.mark.parametrize("plugin", ["import_error", "misspelt_hook", "exits_at_import", "bad_schema", "duplicate_name"])
def test_a_plugin_that_fails_is_found_with_its_fix(examine, plugin):
    findings, code = examine("--plugin", broken(plugin))
    assert code == 1
    assert about(findings, f"plugin broken_{plugin}")["level"] == "fail"
    assert about(findings, "start")["level"] == "fail"


def test_the_json_document_has_the_whole_report_of_every_plugin(run):
    for name in ("doctor", "stats"):
        document = json.loads(run(name, "--json").stdout)
        (hello,) = [one for one in document["plugins"] if one["name"] == "hello"]
        assert (hello["state"], hello["tools"]) == ("loaded", ["hello"])


def test_a_failed_plugin_that_is_not_required_does_not_prevent_the_start(examine, installed):
    installed("merely_found", "import nothing_of_that_name")
    findings, code = examine()
    assert code == 1
    assert about(findings, "plugin merely_found")["level"] == "fail"
    assert not [found for found in findings if found["what"] == "start"]


def test_a_lifespan_that_fails_is_found(examine, settings_file):
    settings_file("[plugins]\nstart_seconds = 0.1")
    findings, code = examine("--plugin", broken("hanging_lifespan"))
    assert code == 1
    assert "failed at lifespan" in about(findings, "plugin broken_hanging_lifespan")["detail"]


def test_a_slow_import_is_a_warning(examine, plugin_file):
    source = (
        "import time\nfrom zapomni_core.plugin import hookimpl\ntime.sleep(0.6)\nzapomni_tools = hookimpl(lambda: [])"
    )
    findings, code = examine("--plugin", plugin_file("slowish", source))
    assert code == 0
    found = about(findings, "plugin slowish", "warn")
    assert found["detail"].startswith("its import took")
    assert found["fix"] == "import heavy libraries where they are used"


def test_broken_settings_are_findings_and_no_plugin_is_loaded(examine, settings_file):
    settings_file('workspce = "x"\n[plugins]\ndisable = ["hello"]')
    findings, code = examine()
    assert code == 1
    assert "did you mean 'workspace'?" in about(findings, "settings")["detail"]
    assert about(findings, "plugins")["level"] == "warn"
    assert not [found for found in findings if found["what"].startswith("plugin ")]


def test_a_secret_that_others_can_read_is_a_warning(examine, settings_file):
    file = settings_file('[llm]\napi_key = "sesame"')
    file.chmod(0o644)
    findings, _ = examine()
    assert about(findings, "settings", "warn")["fix"] == f"chmod 600 {file}"
    assert "sesame" not in str(findings)
    file.chmod(0o600)
    assert about(examine()[0], "settings")["level"] == "ok"


def test_a_file_without_secrets_may_be_read_by_others(examine, settings_file):
    file = settings_file('workspace = "x"')
    file.chmod(0o644)
    assert about(examine()[0], "settings") == {"level": "ok", "what": "settings", "detail": str(file), "fix": None}


def test_a_requirement_that_is_not_installed_is_found_with_the_line_that_installs_it(examine, installed):
    installed("wanting", requires=["nobody-has-this>=2; python_version >= '3'", "extra-thing; extra == 'more'"])
    findings, code = examine()
    assert code == 1
    found = about(findings, "requirement nobody-has-this>=2")
    assert found["detail"] == "wanting requires it, but it is not installed"
    assert shlex.split(found["fix"]) == [sys.executable, "-m", "pip", "install", "nobody-has-this>=2"]
    assert "extra-thing" not in str(findings)


def test_a_requirement_of_another_version_is_found(installed):
    installed("outdated", requires=["click<1", "pluggy", "no requirement at all!"])
    wrong, strange = check_requirements("outdated")
    assert (wrong.level, wrong.what) == ("fail", "requirement click<1")
    assert wrong.detail.endswith("is installed")
    assert strange.level == "warn"


def test_a_missing_package_does_not_stop_the_checks(examine, monkeypatch):
    monkeypatch.setattr(checks, "PACKAGES", ("zapomni", "nobody-has-this"))
    assert about(examine()[0], "packages")["detail"] == "zapomni 0.1.0, nobody-has-this (not installed)"


def test_two_plugins_of_one_name_are_found(examine, installed):
    installed("another_hello", plugin="hello")
    findings, code = examine()
    assert code == 1
    (failed,) = [found for found in findings if found["level"] == "fail"]
    assert "another_hello" in failed["detail"]


def test_a_required_plugin_that_is_not_installed_is_found(examine, settings_file):
    settings_file('[plugins]\nrequire = ["missing"]')
    findings, code = examine()
    assert code == 1
    assert "'missing'" in about(findings, "start")["detail"]


def test_a_missing_model_provider_is_found(examine, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EXTRACTOR", "llm")
    findings, code = examine()
    assert code == 1
    assert "llm.provider is not set" in about(findings, "extractor", "fail")["detail"]


def test_an_unknown_extractor_is_reported(examine, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EXTRACTOR", "lmm")
    assert "did you mean 'llm'?" in about(examine()[0], "extractor", "fail")["detail"]


def test_a_language_model_without_a_key_is_found(examine, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, value in {"EXTRACTOR": "llm", "LLM__PROVIDER": "openai", "LLM__MODEL": "wise"}.items():
        monkeypatch.setenv(f"ZAPOMNI_{name}", value)
    assert "LLM API key is invalid" in about(examine()[0], "extractor", "fail")["detail"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"EXTRACTOR": "names"}, "names"),
        ({"EXTRACTOR": "llm", "LLM__PROVIDER": "ollama", "LLM__MODEL": "wise"}, "llm: wise by ollama"),
    ],
)
def test_the_extractor_is_shown(examine, monkeypatch, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(f"ZAPOMNI_{name}", value)
    findings, code = examine()
    assert code == 0
    assert about(findings, "extractor", "ok")["detail"].startswith(expected)


def test_unknown_settings_are_warnings_with_the_nearest_name(examine, settings_file):
    file = settings_file(
        """
        [plugins]
        disable = ["audit", "auditt"]
        policy = "allowlist"
        allow = ["builtin", "hello"]
        [plugins.audit]
        file = "/tmp/x"
        [plugins.helo]
        greeting = "x"
        [tools.helo]
        enabled = false
        [tools.hello]
        enabled = false
        [rename]
        "hello.hallo" = "hi"
        """
    )
    findings, code = examine()
    assert code == 0
    assert about(findings, "settings plugins.audit")["detail"] == f"plugin 'audit' is disabled (set in {file})"
    assert "did you mean 'hello'?" in about(findings, "settings plugins.helo")["fix"]
    assert "did you mean 'audit'?" in about(findings, "settings plugins.disable")["fix"]
    assert "did you mean 'hello'?" in about(findings, "settings tools.helo")["fix"]
    assert "did you mean 'hello.hello'?" in about(findings, "settings rename.hello.hallo")["fix"]
    assert not [found for found in findings if found["what"] == "settings tools.hello"]
    assert about(findings, "tools")["level"] == "warn"


def test_known_settings_give_no_warnings(examine, settings_file):
    settings_file('[rename]\n"hello.hello" = "greet"\n[tools.greet]\ntimeout_seconds = 3\n[plugins.hello]')
    assert {found["level"] for found in examine()[0]} == {"ok"}


def test_a_tool_owner_that_is_not_loaded_is_a_warning(examine, settings_file):
    settings_file('[tools.hello]\nowner = "nobody"')
    found = about(examine()[0], "plugin hello", "warn")
    assert found["detail"].startswith("offers 'hello' because plugin 'nobody'")


def test_safe_mode_does_not_warn_about_settings_of_plugins_it_skips(examine, settings_file):
    settings_file('[plugins.hello]\ngreeting = "x"\n[tools.hello]\ntimeout_seconds = 3')
    findings, _ = examine("--no-plugins")
    assert [found["what"] for found in findings if found["level"] != "ok"] == ["tools"]


def test_advice_on_a_tool_is_a_warning(examine):
    findings, code = examine("--plugin", broken("raising_tool"))
    assert code == 0
    assert "readOnlyHint" in about(findings, "tool raising_tool")["detail"]


@pytest.mark.parametrize(
    ("count", "level", "caps"), [(1, "ok", ""), (41, "warn", "40"), (129, "warn", "40, 50, 80, 128")]
)
def test_the_number_of_tools_is_compared_with_client_limits(count, level, caps):
    registry = ToolRegistry()
    for number in range(count):

        @tool(name=f"tool_{number}")
        async def one() -> str:
            """One of many tools."""
            return ""

        registry.register(one)
    found = check_tool_count(registry)
    assert found.level == level
    assert found.detail.endswith(caps)


@pytest.mark.parametrize(
    ("check", "level", "detail"),
    [
        ("async def check(self): return 'three open files'", "ok", "three open files"),
        ("async def check(self): return None", "ok", "passed"),
        ("def check(self): return True", "ok", "passed"),
        ("async def check(self): return False", "fail", "failed"),
        ("async def check(self): raise SystemExit(3)", "fail", "SystemExit: 3"),
        ("async def check(self): raise KeyboardInterrupt", "fail", "KeyboardInterrupt: "),
        ("async def check(self): raise GeneratorExit", "fail", "GeneratorExit: "),
        ("async def check(self): raise TimeoutError('asleep')", "fail", "TimeoutError: asleep"),
        ("async def check(self): raise OSError('disk full')", "fail", "OSError: disk full"),
        (
            "async def check(self):\n        import asyncio\n        await asyncio.Event().wait()",
            "fail",
            "no answer in 0.1 s",
        ),
    ],
)
def test_the_check_of_a_tool_is_reported(examine, plugin_file, monkeypatch, check, level, detail):
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.1)
    findings, code = examine("--plugin", plugin_file("checked", CHECKED.replace("CHECK", check)))
    found = about(findings, "check of tool checked")
    assert (found["level"], found["detail"]) == (level, detail)
    assert code == (level == "fail")


def test_the_store_is_checked(examine, kept_store):
    findings, code = examine()
    assert code == 0
    assert about(findings, "store")["detail"].startswith(f"sqlite at {kept_store}")


@pytest.mark.parametrize(("count", "expected"), [(1, "1 chunk has no vector yet"), (2, "2 chunks have no vector yet")])
def test_chunks_without_vectors_are_counted(examine, kept_store, count, expected):
    async def keep_without():
        store = SQLiteStore(kept_store)
        for place in range(count):
            chunk = sample_chunk(f"words {place}", vector=None)
            await put(store, sample_memory(f"words {place}", chunk, embedder=EMBEDDER), "default")
        await store.close()

    asyncio.run(keep_without())
    findings, code = examine()
    found = about(findings, "vectors")
    assert (code, found["level"]) == (0, "warn")
    assert expected in found["detail"]
    assert "zapomni reindex" in found["fix"]


def test_chunks_of_another_analyser_version_are_counted(examine, kept_store):
    async def keep_older():
        store = SQLiteStore(kept_store)
        await put(
            store, sample_memory("words", sample_chunk("words", vector=None), analyser=0, embedder=EMBEDDER), "default"
        )
        await store.close()

    asyncio.run(keep_older())
    findings, code = examine()
    found = about(findings, "words")
    assert (code, found["level"]) == (0, "warn")
    assert "1 chunk was analysed" in found["detail"]
    assert "zapomni reindex" in found["fix"]


@pytest.mark.parametrize(
    ("kept", "named"),
    [
        (EmbedderIdentity("gone", "words", 96), "embedder 'gone'"),
        (EmbedderIdentity("default", "an older model", 96), "another model of embedder 'default'"),
    ],
    ids=["a plugin is missing", "another model"],
)
def test_vectors_of_an_unavailable_embedder_are_reported_with_the_fix(examine, keep, kept, named):
    keep(kept)
    findings, code = examine()
    found = about(findings, "embedder")
    assert (code, found["level"]) == (1, "fail")
    assert named in found["detail"]
    assert "zapomni reindex --embedder default" in found["fix"]


@pytest.mark.parametrize(("kind", "setting"), [("embedder", "mine"), ("store", "mine://here")])
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("raise ConfigurationError('it needs a key')", ["it needs a key"]),
        ("raise KeyError('a mistake')", ["{kind} 'mine' of plugin 'mine'", "KeyError"]),
    ],
)
def test_a_provider_that_fails_is_reported(examine, plugin_file, monkeypatch, body, named, kind, setting):
    source = f"""
def make(context):
    from zapomni_core.errors import ConfigurationError
    {body}

@hookimpl
def zapomni_providers():
    from zapomni_core.plugin import Provider
    return [Provider(kind="{kind}", name="mine", factory=make)]
"""
    monkeypatch.setenv(f"ZAPOMNI_{kind.upper()}", setting)
    findings, code = examine("--plugin", plugin_file("mine", source))
    assert code == 1
    detail = about(findings, "start")["detail"]
    assert all(part.format(kind=kind) in detail for part in named), detail


def test_a_store_changed_by_another_program_is_reported(examine, kept_store):
    with closing(apsw.Connection(str(kept_store))) as connection:
        connection.execute("UPDATE memory SET source = 'changed'")
    findings, code = examine()
    assert code == 1
    assert "restore-backup" in about(findings, "store", "fail")["fix"]


def test_an_unreadable_store_is_reported(examine, kept_store):
    kept_store.write_bytes(b"garbage" * 1000)
    findings, code = examine()
    assert code == 1
    assert str(kept_store) in about(findings, "store", "fail")["detail"]


def test_an_extractor_with_invalid_results_is_reported(examine, plugin_file, monkeypatch):
    source = """
class Listing:
    name = "listing"

    async def extract(self, text, *, timestamp=None):
        return []

    async def close(self):
        pass

@hookimpl
def zapomni_providers():
    from zapomni_core.plugin import Provider
    return [Provider(kind="extractor", name="listing", factory=lambda _: Listing(), asks_llm=False)]
"""
    monkeypatch.setenv("ZAPOMNI_EXTRACTOR", "listing")
    findings, code = examine("--plugin", plugin_file("mine", source))
    found = about(findings, "check of extractor listing")
    assert (code, found["level"]) == (1, "fail")
    assert "'listing' returned list" in found["detail"]


@pytest.mark.parametrize("command", [["serve"], ["add", "a text"]], ids=["serve", "add"])
@pytest.mark.parametrize("kind", ["store", "embedder", "extractor"])
def test_a_provider_that_cannot_be_created_stops_a_command_without_a_traceback(
    start, plugin_file, monkeypatch, command, kind
):
    source = f"""
def make(context):
    raise RuntimeError("no gpu")

@hookimpl
def zapomni_providers():
    from zapomni_core.plugin import Provider
    return [Provider(kind="{kind}", name="mine", factory=make, asks_llm=False)]
"""
    monkeypatch.setenv(f"ZAPOMNI_{kind.upper()}", "mine://" if kind == "store" else "mine")
    code, output, errors = finish(start("--plugin", plugin_file("bad", source), *command))
    assert (code, output, "Traceback" in errors) == (2, "", False)
    for part in ("Error: ", f"{kind} 'mine' of plugin 'bad'", "RuntimeError: no gpu", "bad.py:"):
        assert part in errors


def test_memories_left_in_the_default_store_are_found_when_a_variable_selects_another_store(examine, home, monkeypatch):
    file = home / "data" / "zapomni" / "memory.db"
    store = SQLiteStore(file)
    asyncio.run(put(store, sample_memory("left"), "garden"))
    asyncio.run(store.close())
    assert not [one for one in examine()[0] if one["what"] == "default store"]
    monkeypatch.setenv("FALKORDB_HOST", "127.0.0.1")
    monkeypatch.setenv("FALKORDB_PORT", "1")
    findings, code = examine()
    assert code == 1, "nothing answers there"
    (found,) = [one for one in findings if one["what"] == "default store"]
    assert found["level"] == "warn"
    assert str(file) in found["detail"]
    assert "garden" in found["detail"]
    assert {"zapomni export", "zapomni import"} <= set(re.findall(r"zapomni (?:ex|im)port", found["fix"]))
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{file}")
    assert not [one for one in examine()[0] if one["what"] == "default store"]


def test_variables_of_other_programs_without_effect_are_found(examine, monkeypatch):
    monkeypatch.setenv("GRAPH_NAME", "notes")
    findings, _ = examine()
    assert [one["level"] for one in findings if one["what"] == "variable GRAPH_NAME"] == ["warn"]


def test_the_variables_of_ollama_have_no_effect_on_another_embedder(examine, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "default")
    monkeypatch.setenv("OLLAMA_HOST", "gpu.lan")
    monkeypatch.setenv("EMBEDDING_MODEL", "bge-m3")
    findings, _ = examine()
    for name in ("OLLAMA_HOST", "EMBEDDING_MODEL"):
        found = about(findings, f"variable {name}")
        assert found["level"] == "warn"
        assert "'default' (from ZAPOMNI_EMBEDDER)" in found["detail"]


def test_the_embedder_is_shown_with_the_weight_of_its_vectors(examine, kept_store):
    assert about(examine()[0], "embedder")["detail"].endswith("512 dimensions), vectors with weight 0.75")


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (None, "the first search measures"),
        (VectorWeight(1.152, cyrillic=False), "weight 1.15, but not for questions in Cyrillic"),
        (VectorWeight(0.0), "not used"),
    ],
)
def test_a_measured_weight_is_shown(examine, keep, monkeypatch, weight, expected):
    identity = EmbedderIdentity("ollama", "wise", 64)
    path = keep(identity)

    async def record():
        store = SQLiteStore(path)
        await store.vectors.record_weight("default", identity, weight)
        await store.close()

    if weight:
        asyncio.run(record())
    monkeypatch.setenv("ZAPOMNI_EMBEDDING__OLLAMA__MODEL", "wise")
    assert expected in about(examine()[0], "embedder")["detail"]
