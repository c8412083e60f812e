"""Loading plugins: hooks, settings, name conflicts, imports and lifespans."""

import asyncio
import contextlib
import logging
import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import ModuleType

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from zapomni_core.app import App, build_app
from zapomni_core.errors import ConfigurationError, UnknownToolError
from zapomni_core.host import lifespans
from zapomni_core.host.discovery import Found, discover, from_file
from zapomni_core.plugin import Provider, ToolResult, hookimpl, tool
from zapomni_core.settings import Settings


def make_tool(tool_name, text="done"):
    @tool(name=tool_name)
    async def one() -> str:
        """Return the text of the test."""
        return text

    return one


def offering(*tools, **hooks):
    """A plugin module that offers tools and implements other hooks."""
    plugin = ModuleType("sample")

    @hookimpl
    def zapomni_tools():
        return list(tools)

    plugin.zapomni_tools = zapomni_tools
    for name, function in hooks.items():
        setattr(plugin, name, function)
    return plugin


def providing(*providers):
    """A plugin that offers these providers."""

    @hookimpl
    def zapomni_providers():
        return providers

    return offering(zapomni_providers=zapomni_providers)


def load(settings=None, **plugins):
    return build_app(
        Settings.model_validate(settings or {}),
        plugins=[Found(name, f"zapomni-plugin-{name}", "1.0", plugin=plugin) for name, plugin in plugins.items()],
    )


def compose(settings, files=()):
    """An app with all installed plugins and with files as plugins."""
    return build_app(Settings.model_validate(settings), plugins=[*discover(), *map(from_file, files)])


def failure(app, name):
    report = app.report.get(name)
    assert report.state == "failed", report
    return report


def names(app):
    return [one.name for one in app.registry]


def test_tools_are_registered_in_the_order_their_plugin_offers_them():
    app = load(one=offering(make_tool("first"), make_tool("second")))
    assert names(app) == ["first", "second"]
    assert app.report.get("one").tools == ["first", "second"]
    assert [one.plugin for one in app.registry] == ["one", "one"]


def test_changing_a_schema_after_loading_does_not_change_the_registered_tool():
    changing = make_tool("one")
    changing.output_schema = {"type": "object", "properties": {}}
    schemas = [changing.input_schema, changing.output_schema]
    app = load(sample=offering(changing))
    for schema in schemas:
        schema["properties"][5] = object()
        schema["type"] = "array"
    [kept] = app.registry
    assert (kept.input_schema["type"], kept.input_schema["properties"]) == ("object", {})
    assert kept.output_schema == {"type": "object", "properties": {}}


def test_a_plugin_may_offer_nothing():
    assert load(empty=ModuleType("empty")).report.get("empty").state == "loaded"


def test_one_invalid_tool_rejects_its_whole_plugin():
    class Bad:
        name = "bad_tool"

    app = load(half=offering(make_tool("fine"), Bad()), other=offering(make_tool("kept")))
    assert names(app) == ["kept"]
    report = failure(app, "half")
    assert (report.stage, report.tools) == ("tools", [])
    assert report.cause == "tool 'bad_tool': Tool must have 'name' and 'description' attributes"
    assert report.fix


def test_a_raising_hook_does_not_affect_other_plugins():
    @hookimpl
    def zapomni_tools():
        raise RuntimeError("boom")

    broken = ModuleType("broken")
    broken.zapomni_tools = zapomni_tools
    app = load(broken=broken, good=offering(make_tool("kept")))
    assert names(app) == ["kept"]
    assert failure(app, "broken").cause.startswith("zapomni_tools raised RuntimeError: boom")
    assert 'raise RuntimeError("boom")' in failure(app, "broken").cause


class CustomBaseException(BaseException):
    """A BaseException of a kind that libraries should not raise."""


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), CustomBaseException("mine")])
@pytest.mark.parametrize("where", ["hook", "iteration", "property"])
def test_any_exception_in_a_plugins_code_fails_only_that_plugin(raised, where):
    @hookimpl
    def zapomni_tools():
        if where == "hook":
            raise raised
        return offered()

    def offered():
        if where == "iteration":
            raise raised
        yield Raising()

    class Raising:
        name = "raising"
        input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 (as authors write it)

        @property
        def description(self):
            raise raised

    app = load(bad=offering(zapomni_tools=zapomni_tools), good=offering(make_tool("one")))
    assert type(raised).__name__ in failure(app, "bad").cause
    assert "(test_loading.py:" in failure(app, "bad").cause
    assert failure(app, "bad").stage == ("tools" if where == "property" else "hooks")
    assert names(app) == ["one"]


@pytest.mark.parametrize("hook", ["zapomni_settings", "zapomni_tools", "zapomni_lifespan"])
def test_a_blocking_hook_fails_its_plugin_after_the_limit_and_other_plugins_load(hook):
    release = threading.Event()

    def block():
        release.wait(30)

    app = App(Settings.model_validate({"plugins": {"import_seconds": 1}}))
    bad = offering(**{hook: hookimpl(specname=hook)(block)})
    try:
        app.load([Found("bad", plugin=bad), Found("good", plugin=offering(make_tool("one")))])
    finally:
        release.set()
    assert hook in failure(app, "bad").cause
    assert "1 s" in failure(app, "bad").cause
    assert "plugins.import_seconds" in failure(app, "bad").fix
    assert names(app) == ["one"]


def test_an_exception_whose_text_cannot_be_read_fails_its_plugin():
    class UnreadableError(Exception):
        def __str__(self):
            raise SystemExit

    @hookimpl
    def zapomni_tools():
        raise UnreadableError

    assert "SystemExit" in failure(load(bad=offering(zapomni_tools=zapomni_tools)), "bad").cause


@pytest.mark.parametrize("hook", ["zapomni_providers", "zapomni_tools"])
def test_slow_hooks_of_several_plugins_run_concurrently(hook, monkeypatch):
    """Each hook waits for all the others, so calling them one by one would exceed the limit."""
    monkeypatch.setattr("zapomni_core.host.loading.SEQUENTIAL_SECONDS", 0.05)
    meeting = threading.Barrier(5, timeout=20)

    def meet():
        meeting.wait()
        return []

    slow = [offering(**{hook: hookimpl(specname=hook)(meet)}) for _ in range(5)]
    app = build_app(
        Settings.model_validate({"plugins": {"import_seconds": 10}}),
        plugins=[Found(f"sample{number}", plugin=plugin) for number, plugin in enumerate(slow)],
    )
    assert [report.cause for report in app.report] == [None] * 5


def test_the_first_plugin_keeps_a_tool_name_even_if_its_hook_is_slower(monkeypatch):
    monkeypatch.setattr("zapomni_core.host.loading.SEQUENTIAL_SECONDS", 0.05)
    second_was_called = threading.Event()

    @hookimpl
    def slow():
        assert second_was_called.wait(20)
        return [make_tool("search", "the first one's")]

    @hookimpl
    def quick():
        second_was_called.set()
        return [make_tool("search", "the second one's")]

    app = load(
        {"plugins": {"import_seconds": 20}}, alpha=offering(zapomni_tools=slow), beta=offering(zapomni_tools=quick)
    )
    assert "tool 'search'" in failure(app, "beta").cause
    assert "plugin 'alpha'" in failure(app, "beta").cause
    assert app.registry.owner("search") == "alpha"


@dataclass
class Unhashable:
    """A plugin that is not hashable, like any instance of a plain dataclass."""

    tool_name: str

    @hookimpl
    def zapomni_tools(self):
        return [make_tool(self.tool_name)]


def test_plugins_may_be_objects_that_are_not_hashable():
    app = load(first=Unhashable("one"), second=Unhashable("two"), third=offering(make_tool("three")))
    assert names(app) == ["one", "two", "three"]


def zapomni_tools():
    return []


@hookimpl
def zapomni_tool():
    return []


@hookimpl(specname="zapomni_everything")
def anything():
    return []


@hookimpl
async def zapomni_middleware():
    return []


@hookimpl
def zapomni_lifespan(engine, database):
    return None


@hookimpl(wrapper=True)
def zapomni_settings():
    return (yield)


@pytest.mark.parametrize(
    ("function", "cause", "fix"),
    [
        (zapomni_tools, "decorator", "@hookimpl"),
        (zapomni_tool, "'zapomni_tool'", "to zapomni_tools"),
        (anything, "'zapomni_everything'", "zapomni_settings"),
        (zapomni_middleware, "async", "'def'"),
        (zapomni_lifespan, "'database'", "engine, settings"),
        (zapomni_settings, "wrapper", "middleware"),
    ],
)
def test_a_hook_that_pluggy_would_ignore_or_misuse_is_rejected_with_its_source_line(function, cause, fix):
    plugin = ModuleType("sample")
    setattr(plugin, function.__name__, function)
    report = failure(load(sample=plugin), "sample")
    assert report.stage == "hooks"
    assert cause in report.cause
    assert "(test_loading.py:" in report.cause
    assert f"def {function.__name__}" in report.cause
    assert fix in report.fix


def test_a_hook_is_recognised_by_its_specname():
    plugin = ModuleType("sample")

    @hookimpl(specname="zapomni_tools")
    def offer():
        return [make_tool("kept")]

    plugin.offer = offer
    assert names(load(sample=plugin)) == ["kept"]


def test_a_class_is_rejected_as_a_plugin():
    class Sample:
        @hookimpl
        def zapomni_tools(self):
            raise AssertionError

    report = failure(load(sample=Sample), "sample")
    assert report.stage == "hooks"
    assert "class Sample" in report.cause
    assert "plugin = Sample()" in report.fix


def test_an_object_with_hook_methods_is_a_plugin():
    class Sample:
        @hookimpl
        def zapomni_tools(self, engine):
            return (one for one in [make_tool(f"in_{engine.workspace}")])

    assert names(load({"workspace": "attic"}, sample=Sample())) == ["in_attic"]


def a_generator():
    yield make_tool("fine")
    raise RuntimeError("late")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("tools", "str"),
        ({}, "dict"),
        (make_tool("alone"), "FunctionTool"),
        (a_generator(), "RuntimeError: late"),
    ],
)
def test_a_tools_hook_must_return_a_list(answer, cause):
    plugin = ModuleType("sample")
    plugin.zapomni_tools = hookimpl(specname="zapomni_tools")(lambda: answer)
    report = failure(load(sample=plugin), "sample")
    assert report.cause.startswith("zapomni_tools ")
    assert cause in report.cause


class SampleSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = 1
    token: SecretStr | None = None


@hookimpl(specname="zapomni_settings")
def sample_settings():
    return SampleSettings


@hookimpl(specname="zapomni_tools")
def tools_by_depth(settings):
    return [make_tool(f"depth_{settings.depth}")]


def configurable():
    return offering(zapomni_settings=sample_settings, zapomni_tools=tools_by_depth)


def test_a_plugin_gets_its_own_validated_settings():
    assert names(load({"plugins": {"sample": {"depth": "7"}}}, sample=configurable())) == ["depth_7"]
    assert names(load(sample=configurable())) == ["depth_1"]


def test_invalid_settings_are_reported_by_key_and_rule_without_their_values():
    table = {"depht": 2, "depth": "secret", "token": ["secret"]}
    report = failure(load({"plugins": {"sample": table}}, sample=configurable()), "sample")
    assert report.stage == "settings"
    assert "plugins.sample.depht" in report.cause
    assert "did you mean 'depth'?" in report.cause
    assert "plugins.sample.depth: Input should be a valid integer" in report.cause
    assert "secret" not in report.cause
    misspelled, wrong = report.fix.split("; ")
    assert "depht in [plugins.sample] or in ZAPOMNI_PLUGINS__SAMPLE__DEPHT" in misspelled
    assert "depth, token in [plugins.sample] or in ZAPOMNI_PLUGINS__SAMPLE__DEPTH" in wrong


def test_settings_for_a_plugin_without_a_settings_hook_are_rejected():
    report = failure(load({"plugins": {"sample": {"depth": 1}}}, sample=offering()), "sample")
    assert report.stage == "settings"
    assert "plugins.sample" in report.cause


def test_a_settings_hook_must_return_a_model_class():
    plugin = offering(zapomni_settings=hookimpl(specname="zapomni_settings")(lambda: {"depth": int}))
    assert "pydantic model class" in failure(load(sample=plugin), "sample").cause


def test_the_first_of_two_tools_keeps_the_name_and_the_failure_says_how_to_rename_the_other():
    app = load(alpha=offering(make_tool("search", "alpha")), beta=offering(make_tool("search"), make_tool("other")))
    assert names(app) == ["search"]
    report = failure(app, "beta")
    assert "tool 'search'" in report.cause
    assert "plugin 'alpha'" in report.cause
    assert '[rename] "beta.search" = "beta_search"' in report.fix
    assert '[tools.search] owner = "beta"' in report.fix


async def test_each_suggested_setting_resolves_a_name_conflict():
    plugins = {"alpha": offering(make_tool("search", "alpha")), "beta": offering(make_tool("search", "beta"))}
    renamed = load({"rename": {"beta.search": "beta_search"}}, **plugins)
    assert names(renamed) == ["search", "beta_search"]
    assert await renamed.dispatcher.call("beta_search", {}) == ToolResult.text("beta")
    preferred = load({"tools": {"search": {"owner": "beta"}}}, **plugins)
    assert names(preferred) == ["search"]
    assert await preferred.dispatcher.call("search", {}) == ToolResult.text("beta")
    assert preferred.report.get("alpha").state == "loaded"


def test_the_first_plugin_keeps_a_tool_whose_preferred_owner_is_missing():
    app = load({"tools": {"search": {"owner": "beta"}}}, alpha=offering(make_tool("search")))
    assert names(app) == ["search"]
    assert "plugin 'beta'" in app.report.get("alpha").warnings[0]


def test_a_plugin_that_offers_two_tools_of_one_name_fails():
    app = load(sample=offering(make_tool("same"), make_tool("same")))
    assert failure(app, "sample").stage == "tools"
    assert "'same'" in failure(app, "sample").cause


def test_settings_can_disable_a_tool_and_replace_its_description():
    settings = {"tools": {"first": {"enabled": False}, "second": {"description": "A description from the settings."}}}
    app = load(settings, sample=offering(make_tool("first"), make_tool("second")))
    assert [(one.name, one.description) for one in app.registry] == [("second", "A description from the settings.")]


def test_a_description_from_the_settings_is_checked_like_any_other():
    app = load({"tools": {"first": {"description": "short"}}}, sample=offering(make_tool("first")))
    report = failure(app, "sample")
    assert "tools.first.description" in report.cause
    assert "too short (min 10 chars)" in report.cause
    assert "description in [tools.first]" in report.fix


@pytest.mark.parametrize(
    ("plugins", "state"),
    [
        ({"disable": ["sample"]}, "disabled"),
        ({"disable": ["zapomni-plugin-sample"]}, "disabled"),
        ({"disable": ["sample"], "enable": ["Sample"]}, "loaded"),
        ({"policy": "allowlist"}, "disabled"),
        ({"policy": "allowlist", "allow": ["sample"]}, "loaded"),
        ({"policy": "allowlist", "require": ["sample>=0.5"]}, "loaded"),
    ],
)
def test_settings_decide_which_plugins_are_loaded(plugins, state, installed):
    installed("sample", "raise AssertionError('imported')" if state == "disabled" else "")
    app = build_app(
        Settings.model_validate({"plugins": plugins}), plugins=[one for one in discover() if one.name == "sample"]
    )
    assert app.report.get("sample").state == state


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a plugin as pip does: a module with its dist-info next to it, on the path."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = set(sys.modules)

    def install(name, source="", distribution=None, target=None):
        distribution = distribution or f"zapomni-plugin-{name}"
        module = f"zapomni_plugin_{name}"
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[zapomni.plugins]\n{name} = {target or module}\n")

    yield install
    for name in set(sys.modules) - modules:
        if name.startswith("zapomni_plugin_"):
            del sys.modules[name]


def load_installed(*only, **settings):
    return build_app(Settings.model_validate(settings), plugins=[one for one in discover() if one.name in only])


def test_discovery_reads_metadata_only_and_sorts_bundled_plugins_first_then_by_name(installed):
    for name, distribution in [("zebra", None), ("ant", None), ("memory", "zapomni")]:
        installed(name, "raise AssertionError('imported')", distribution)
    found = [one for one in discover() if one.name in ("zebra", "ant", "memory")]
    assert [(one.name, one.bundled) for one in found] == [("memory", True), ("ant", False), ("zebra", False)]
    assert (found[1].distribution, found[1].version, found[1].target) == (
        "zapomni-plugin-ant",
        "1.0",
        "zapomni_plugin_ant",
    )


@pytest.mark.parametrize("name", ["Upper", "two__words", "with-dash", "disable", "1st"])
def test_a_name_that_cannot_be_a_settings_key_is_rejected_before_the_import(installed, name):
    installed(name, "raise AssertionError('imported')", "zapomni-plugin-x")
    assert failure(load_installed(name), name).stage == "discover"


def test_a_name_taken_by_another_distribution_is_rejected_before_the_import(installed):
    installed("twin", "", "a-first")
    installed("twin", "", "b-second")
    app = load_installed("twin")
    assert [(one.distribution, one.state, one.stage) for one in app.report] == [
        ("a-first", "loaded", None),
        ("b-second", "failed", "discover"),
    ]
    assert app.report.get("twin").state == "loaded"


@pytest.mark.parametrize(
    ("metadata", "missing"),
    [(None, "name"), ("Metadata-Version: 2.1\nVersion: 1.0\n", "name"), ("Name: zapomni-plugin-torn\n", "version")],
)
def test_a_package_with_damaged_metadata_fails_and_does_not_hide_an_intact_one(installed, tmp_path, metadata, missing):
    installed("torn", "raise AssertionError('imported')", "a-torn")
    [file] = tmp_path.glob("*torn*/METADATA")
    file.write_text(metadata) if metadata else file.unlink()
    assert failure(load_installed("torn"), "torn").stage == "discover"
    installed("torn", "", "zapomni-plugin-whole")
    app = load_installed("torn")
    torn, whole = sorted(app.report, key=lambda one: one.state)
    assert (torn.state, torn.stage) == ("failed", "discover")
    assert isinstance(torn.version, str)
    assert "a_torn-1.0.dist-info" in torn.cause
    assert torn.cause.endswith(missing)
    assert "directory" in torn.fix
    assert (whole.state, whole.distribution) == ("loaded", "zapomni-plugin-whole")


@pytest.mark.parametrize("text", [b"[zapomni.plugins]\nwhat is this?\n", b"\xff\xfe"])
def test_unreadable_entry_points_name_their_package_and_do_not_hide_others(installed, tmp_path, text):
    installed("whole")
    installed("torn")
    [file] = tmp_path.glob("*torn*/entry_points.txt")
    file.write_bytes(text)
    app = load_installed("whole", "zapomni_plugin_torn")
    assert app.report.get("whole").state == "loaded"
    torn = failure(app, "zapomni_plugin_torn")
    assert (torn.stage, torn.distribution, torn.version) == ("discover", "zapomni-plugin-torn", "1.0")
    assert "zapomni_plugin_torn-1.0.dist-info" in torn.cause
    assert "entry_points.txt" in torn.cause
    app = load_installed("zapomni_plugin_torn", plugins={"disable": ["zapomni-plugin-torn"]})
    assert app.report.get("zapomni_plugin_torn").state == "disabled"


def test_the_first_of_two_packages_on_the_path_is_used_even_next_to_an_unreadable_one(installed, tmp_path, monkeypatch):
    installed("twice")
    installed("torn")
    (tmp_path / "zapomni_plugin_torn-1.0.dist-info" / "entry_points.txt").write_text("[anything]\nwhat is this?\n")
    shadowed = tmp_path / "later" / "zapomni_plugin_twice-0.9.dist-info"
    shadowed.mkdir(parents=True)
    (shadowed / "METADATA").write_text("Name: zapomni-plugin-twice\nVersion: 0.9\n")
    (shadowed / "entry_points.txt").write_text("[zapomni.plugins]\ntwice = zapomni_plugin_twice\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(shadowed.parent)])
    assert [one.version for one in discover() if one.name == "twice"] == ["1.0"]


@pytest.mark.parametrize(
    ("source", "cause", "fix"),
    [
        (
            "import nothing_of_the_kind.at_all",
            "No module named 'nothing_of_the_kind'",
            "-m pip install nothing-of-the-kind",
        ),
        (
            "from zapomni_core.plugins import hookimpl",
            "No module named 'zapomni_core.plugins'",
            "from zapomni_core.plugin",
        ),
        (
            "import pydantic.nowhere",
            "No module named 'pydantic.nowhere'",
            "check the spelling",
        ),
        (
            "import zapomni_plugin_broken.part",
            "No module named 'zapomni_plugin_broken.part'",
            "is missing: ",
        ),
        (
            "import sys\nsys.exit('bye')",
            "SystemExit: bye (zapomni_plugin_broken.py:2: sys.exit('bye'))",
            "must not exit",
        ),
        ("x = 1 / 0", "ZeroDivisionError: division by zero (zapomni_plugin_broken.py:1: x = 1 / 0)", "disable it"),
        (
            "x = 1\ndef f(:",
            "SyntaxError: invalid syntax (zapomni_plugin_broken.py:2: def f(:)",
            "disable it",
        ),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "disable it"),
        (
            "import json\njson.loads('')",
            "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (zapomni_plugin_broken.py:2: json.loads(''))",
            "disable it",
        ),
        (
            "import pydantic\npydantic.create_model('Wrong', a=(object(), 1))",
            "(zapomni_plugin_broken.py:2: pydantic.create_model('Wrong', a=(object(), 1)))",
            "disable it",
        ),
        (
            "raise ValueError('one\\n\\ntwo')",
            "ValueError: one two (zapomni_plugin_broken.py:1: raise ",
            "disable it",
        ),
        (
            "from zapomni_core.plugin import SomethingOfNextYear",
            "cannot import name 'SomethingOfNextYear'",
            "update Zapomni",
        ),
        (
            "from zapomni_core.plugin import hookimp",
            "cannot import name 'hookimp'",
            "did you mean hookimpl?",
        ),
        (
            "from zapomni_core.plugin import NewJob",
            "cannot import name 'NewJob'",
            "import NewJob from zapomni_core.plugin.jobs",
        ),
        (
            "from zapomni_core.plugin.jobs import NewJobb",
            "cannot import name 'NewJobb'",
            "did you mean NewJob?",
        ),
    ],
)
def test_a_failed_import_is_reported_with_its_source_line_and_a_fix(installed, source, cause, fix):
    installed("broken", source)
    installed("good")
    app = load_installed("broken", "good")
    report = failure(app, "broken")
    assert report.stage == "import"
    assert cause in report.cause
    assert fix in report.fix
    assert app.report.get("good").state == "loaded"


@pytest.mark.parametrize(
    ("target", "cause", "fix"),
    [
        (
            "zapomni_plugin_broken:nowhere",
            "'zapomni_plugin_broken:nowhere'",
            'broken = "zapomni_plugin_broken"',
        ),
        (
            "zapomni-plugin-broken",
            "'zapomni-plugin-broken'",
            'broken = "zapomni_plugin_broken"',
        ),
    ],
)
def test_an_entry_point_that_cannot_be_resolved_fails_at_import_and_is_quoted(installed, target, cause, fix):
    installed("broken", "", target=target)
    report = failure(load_installed("broken"), "broken")
    assert report.stage == "import"
    assert cause in report.cause
    assert fix in report.fix


def test_an_entry_point_may_name_an_object_in_a_module(installed):
    installed(
        "good",
        "import types\ninner = types.SimpleNamespace(plugin=types.ModuleType('x'))",
        target="zapomni_plugin_good:inner.plugin",
    )
    assert load_installed("good").report.get("good").state == "loaded"


def test_a_failure_names_the_plugins_line_even_next_to_a_virtual_environment(tmp_path):
    library = tmp_path / ".venv" / "lib" / "site-packages"
    library.mkdir(parents=True)
    (library / "fragile.py").write_text("def use():\n    raise RuntimeError('broken')\n")
    file = tmp_path / "mine.py"
    file.write_text(f"import sys\nsys.path.append({str(library)!r})\nimport fragile\nfragile.use()\n")
    app = App()
    with pytest.raises(ConfigurationError):
        app.load([from_file(file)])
    assert failure(app, "mine").cause == "RuntimeError: broken (mine.py:4: fragile.use())"


def test_the_fix_for_a_plugin_without_its_module_is_to_reinstall_it(installed):
    installed("broken", "", target="no_such_module")
    fix = failure(load_installed("broken"), "broken").fix
    assert "no_such_module" in fix
    assert fix.endswith(" -m pip install --force-reinstall zapomni-plugin-broken")


def test_a_hanging_import_fails_after_its_limit_and_other_plugins_load(installed):
    release = threading.Event()
    sys.modules["_release"] = type("Release", (), {"event": release})
    try:
        installed("slow", "from _release import event\nevent.wait(30)")
        installed("zebra")
        app = load_installed("slow", "zebra", plugins={"import_seconds": 1})
        assert "1 s" in failure(app, "slow").cause
        assert "plugins.import_seconds" in failure(app, "slow").fix
        assert app.report.get("zebra").state == "loaded"
    finally:
        release.set()
        del sys.modules["_release"]


def test_the_slow_import_callback_runs_only_if_an_import_takes_long(installed, monkeypatch):
    release = threading.Event()
    monkeypatch.setitem(sys.modules, "_release", type("Release", (), {"event": release}))
    monkeypatch.setattr("zapomni_core.host.loading.SEQUENTIAL_SECONDS", 30)
    installed("quick")
    App().load([one for one in discover() if one.name == "quick"], meanwhile=lambda: pytest.fail("nothing takes long"))
    monkeypatch.setattr("zapomni_core.host.loading.SEQUENTIAL_SECONDS", 0.05)
    installed("slow", "from _release import event\nevent.wait(30)")
    app = build_app(
        Settings.model_validate({"plugins": {"import_seconds": 30}}),
        plugins=[one for one in discover() if one.name == "slow"],
        meanwhile=release.set,
    )
    assert app.report.get("slow").state == "loaded"


@pytest.mark.parametrize("name", ["2cool", "hello"])
def test_the_fix_for_an_unusable_file_name_is_to_rename_the_file(tmp_path, name):
    file = tmp_path / f"{name}.py"
    file.touch()
    app = App()
    with pytest.raises(ConfigurationError, match="failed at discover"):
        app.load([Found("hello", plugin=offering()), from_file(file)])
    report = app.report.plugins[-1]
    assert "rename" in report.fix
    assert "entry point" not in report.fix


def as_dict_config_does():
    logging.getLogger("zapomni.app").disabled = True


@pytest.mark.parametrize("silence", [as_dict_config_does, logging.disable])
def test_a_plugin_that_reconfigures_logging_does_not_silence_reports(caplog, silence):
    @hookimpl
    def zapomni_tools():
        silence()
        raise RuntimeError

    load(sample=offering(zapomni_tools=zapomni_tools))
    assert [record.plugin for record in caplog.records if record.message == "plugin_failed"] == ["sample"]


def test_a_plugin_without_hooks_loads_with_a_warning(caplog):
    forgetful = ModuleType("forgetful")
    forgetful.greet = make_tool("greet")
    app = load(forgetful=forgetful, good=offering())
    assert app.report.get("forgetful").state == "loaded"
    [warning] = app.report.get("forgetful").warnings
    assert "hook" in warning
    assert app.report.get("good").warnings == []
    logged = [(one.plugin, one.warning) for one in caplog.records if one.message == "plugin_warning"]
    assert logged == [("forgetful", warning)]


@pytest.mark.parametrize("hook", ["zapomni_settings", "zapomni_providers", "zapomni_tools", "zapomni_middleware"])
def test_a_hook_that_returns_none_gets_a_warning(caplog, hook):
    plugin = ModuleType("forgetful")
    setattr(plugin, hook, hookimpl(specname=hook)(lambda: None))
    app = load(forgetful=plugin)
    report = app.report.get("forgetful")
    assert report.state == "loaded"
    [warning] = report.warnings
    assert hook in warning
    assert [one.warning for one in caplog.records if one.message == "plugin_warning"] == report.warnings


def test_a_lifespan_hook_may_return_none_without_a_warning():
    nothing_to_open = hookimpl(specname="zapomni_lifespan")(lambda: None)
    assert load(good=offering(zapomni_lifespan=nothing_to_open)).report.get("good").warnings == []


@pytest.mark.parametrize("name", ["", " ", 5, None, ["list"]])
def test_a_provider_with_an_invalid_name_is_rejected(name):
    plugin = providing(Provider(kind="embedder", name=name, factory=print))
    report = failure(load(sample=plugin), "sample")
    assert report.stage == "providers"
    assert "'embedder'" in report.cause
    assert repr(name) in report.cause


def test_a_plugin_that_offers_two_providers_of_one_kind_and_name_fails():
    twice = [Provider(kind="embedder", name="mine", factory=print) for _ in range(2)]
    report = failure(load(sample=providing(*twice)), "sample")
    assert report.stage == "providers"
    assert "'embedder'" in report.cause
    assert "'mine'" in report.cause


def test_the_first_plugin_keeps_the_name_of_a_provider():
    mine = Provider(kind="embedder", name="mine", factory=print)
    app = load(first=providing(mine), second=providing(mine))
    assert "embedder 'mine'" in failure(app, "second").cause
    assert "plugin 'first'" in failure(app, "second").cause


def test_a_provider_of_an_unknown_kind_is_rejected_with_the_known_kinds():
    offered = [Provider(kind="stor", name="mine", factory=lambda _: None)]
    plugin = offering(zapomni_providers=hookimpl(specname="zapomni_providers")(lambda: offered))
    report = failure(load(sample=plugin), "sample")
    assert report.stage == "providers"
    assert "'mine'" in report.cause
    assert "'stor'" in report.cause
    assert "store, embedder, extractor, job" in report.fix


def test_the_owner_setting_of_a_tool_accepts_any_spelling_of_a_plugin_name():
    settings = {"tools": {"one": {"owner": "Second-One"}}}
    app = load(settings, first=offering(make_tool("one", "1st")), second_one=offering(make_tool("one", "2nd")))
    assert app.registry.owner("one") == "second_one"


def test_a_file_is_a_plugin_named_after_the_file(tmp_path):
    file = tmp_path / "zapomni_plugin_rain-gauge.py"
    file.write_text("from zapomni_core.plugin import hookimpl\n@hookimpl\ndef zapomni_tools():\n    return []\n")
    app = compose({"plugins": {"policy": "allowlist"}}, files=[file])
    assert app.report.get("rain_gauge").state == "loaded"


@pytest.mark.parametrize("content", [None, "import nothing_of_the_kind", "not python at all"])
def test_a_failing_plugin_file_stops_the_start(tmp_path, content):
    file = tmp_path / "mine.py"
    if content:
        file.write_text(content)
    with pytest.raises(ConfigurationError, match="'mine' failed at import"):
        compose({"plugins": {"policy": "allowlist"}}, files=[file])


@pytest.mark.parametrize(
    ("require", "problem"),
    [
        ("sample", None),
        ("zapomni-plugin-sample", None),
        ("sample>=1.0,<2", None),
        ("sample>=2", "version 1.0"),
        ("absent", "'absent' is required (plugins.require)"),
        ("broken", "'broken' failed at tools"),
        ("off", "(plugins.require) and disabled"),
        ("sample>=nonsense", "not a version"),
    ],
)
def test_a_missing_required_plugin_stops_the_start(require, problem):
    class Bad:
        name = "bad"

    settings = {"plugins": {"require": require if "," not in require else [require], "disable": ["off"]}}
    app = App(Settings.model_validate(settings))
    found = [Found("sample", "zapomni-plugin-sample", "1.0", plugin=offering())]
    found += [Found("broken", "b", "1.0", plugin=offering(Bad())), Found("off", "o", "1.0", entry_point=object())]
    if problem is None:
        app.load(found)
        assert app.report.get("sample").state == "loaded"
    else:
        with pytest.raises(ConfigurationError) as error:
            app.load(found)
        assert problem in str(error.value)


@pytest.mark.parametrize(
    ("choice", "parts"),
    [
        ({"store": "nowhere://x"}, ["store 'nowhere'", "sqlite, falkordb, falkordbs"]),
        ({"embedder": "defualt"}, ["embedder 'defualt'", "did you mean 'default'?"]),
        ({"extractor": "nobody"}, ["extractor 'nobody'", "llm, names"]),
    ],
)
def test_a_configured_provider_that_no_plugin_offers_stops_the_start(choice, parts):
    with pytest.raises(ConfigurationError) as error:
        compose(choice)
    assert [part for part in parts if part not in str(error.value)] == []
    load(choice)  # installed plugins are not loaded here, so the name cannot be checked


def test_a_configured_provider_that_a_plugin_offers_lets_the_app_start():
    compose({"store": "sqlite:///x.db", "embedder": "default", "extractor": "llm"})


def test_strict_loading_reports_all_failures_together():
    app = App()
    found = [Found(name, plugin=offering("not a tool")) for name in ("one", "two")]
    with pytest.raises(ConfigurationError) as error:
        app.load(found, strict=True)
    assert "plugin 'one' failed" in str(error.value)
    assert "plugin 'two' failed" in str(error.value)


class Silent:
    stage = "observe"

    def __call__(self, call, call_next):
        return None


class Stageless(Silent):
    stage = "whenever"


@pytest.mark.parametrize(("middleware", "cause"), [(Silent(), "async"), (Stageless(), "stage 'whenever'")])
def test_an_invalid_middleware_is_rejected(middleware, cause):
    plugin = offering(
        make_tool("fine"), zapomni_middleware=hookimpl(specname="zapomni_middleware")(lambda: [middleware])
    )
    app = load(sample=plugin)
    assert cause in failure(app, "sample").cause
    assert names(app) == []


class Fickle:
    """A middleware whose stage changes with every read."""

    def __init__(self):
        self._stages = iter(["observe", "invalid"])

    @property
    def stage(self):
        return next(self._stages)

    async def __call__(self, call, call_next):
        return await call_next(call)


def test_the_stage_of_a_middleware_is_read_once():
    @hookimpl
    def zapomni_middleware():
        return [Fickle()]

    app = load(sample=offering(make_tool("one"), zapomni_middleware=zapomni_middleware))
    assert app.report.get("sample").middleware == ["observe Fickle"]
    assert names(app) == ["one"]


def test_an_invalid_lifespan_is_rejected():
    plugin = offering(zapomni_lifespan=hookimpl(specname="zapomni_lifespan")(lambda: 42))
    assert "async context manager" in failure(load(sample=plugin), "sample").cause


def with_lifespan(lifespan, *tools):
    return offering(*tools, zapomni_lifespan=hookimpl(specname="zapomni_lifespan")(lifespan))


async def test_lifespans_are_entered_on_start_and_exited_in_reverse_order():
    events = []

    def recording(name):
        @asynccontextmanager
        async def lifespan():
            events.append(f"open {name}")
            yield
            events.append(f"close {name}")

        return lifespan

    app = load(
        one=with_lifespan(recording("one"), make_tool("first")),
        two=with_lifespan(recording("two"), make_tool("second")),
    )
    assert events == []
    await app.start()
    for name in ("first", "second"):
        await app.dispatcher.call(name, {})
    await app.stop()
    assert sorted(events[:2]) == ["open one", "open two"]
    assert events[2:] == ["close two", "close one"]


async def test_a_call_waits_for_its_plugins_lifespan():
    ready = asyncio.Event()

    @asynccontextmanager
    async def slow():
        await ready.wait()
        yield

    app = load(sample=with_lifespan(slow, make_tool("patient")))
    call = asyncio.create_task(app.dispatcher.call("patient", {}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not call.done()
    ready.set()
    assert await call == ToolResult.text("done")
    await app.stop()


@asynccontextmanager
async def raising():
    raise RuntimeError("no port")
    yield


@asynccontextmanager
async def exiting():
    sys.exit(4)
    yield


@asynccontextmanager
async def hanging():
    await asyncio.Event().wait()
    yield


@pytest.mark.parametrize(
    ("lifespan", "cause"),
    [(raising, "RuntimeError: no port"), (exiting, "SystemExit: 4"), (hanging, "0.05 s")],
)
async def test_a_failed_lifespan_withdraws_its_plugin_and_logs_the_cause(lifespan, cause, caplog):
    changed = asyncio.Event()
    app = load(
        {"plugins": {"start_seconds": 0.05}},
        ill=with_lifespan(lifespan, make_tool("ill")),
        well=offering(make_tool("well")),
    )
    app.on_tools_changed = changed.set
    waiting = await app.dispatcher.call("ill", {})
    assert waiting["structuredContent"]["error_code"] == "PLUGIN_UNAVAILABLE"
    await asyncio.wait_for(changed.wait(), 5)
    assert names(app) == ["well"]
    report = failure(app, "ill")
    assert (report.stage, report.tools) == ("lifespan", [])
    assert cause in report.cause
    [logged] = [one for one in caplog.records if one.message == "plugin_withdrawn"]
    expected = ("ill", "lifespan", report.cause, report.fix)
    assert (logged.plugin, logged.stage, logged.cause, logged.fix) == expected
    with pytest.raises(UnknownToolError):
        await app.dispatcher.call("ill", {})
    assert (await app.dispatcher.call("well", {}))["isError"] is False
    assert not app.failed_requirement.is_set()
    await app.stop()


async def test_a_failed_lifespan_of_a_required_plugin_signals_the_server_to_stop():
    app = load({"plugins": {"require": ["ill"]}}, ill=with_lifespan(raising))
    await app.start()
    await asyncio.wait_for(app.failed_requirement.wait(), 5)
    assert failure(app, "ill").stage == "lifespan"
    await app.stop()


@pytest.mark.parametrize(
    "raised",
    [RuntimeError("late"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), CustomBaseException()],
)
async def test_a_lifespan_that_fails_to_close_is_reported_and_other_lifespans_close(raised, caplog):
    closed = []

    @asynccontextmanager
    async def bad():
        yield
        raise raised

    @asynccontextmanager
    async def good():
        yield
        closed.append("good")

    app = load(good=with_lifespan(good, make_tool("one")), zbad=with_lifespan(bad, make_tool("two")))
    for name in ("one", "two"):
        await app.dispatcher.call(name, {})
    await app.stop()
    assert closed == ["good"]
    assert any(record.message == "lifespan_did_not_close" for record in caplog.records)
    [warning] = app.report.get("zbad").warnings
    assert "lifespan" in warning
    assert type(raised).__name__ in warning


async def ignore_cancellation(until):
    while not until.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await until.wait()


async def test_a_lifespan_that_ignores_its_limit_does_not_block_calls_of_other_plugins(monkeypatch):
    monkeypatch.setattr(lifespans, "CLOSE_SECONDS", 0.05)
    monkeypatch.setattr(lifespans, "CANCEL_SECONDS", 0.05)

    release = asyncio.Event()

    @asynccontextmanager
    async def stubborn():
        await ignore_cancellation(release)
        yield

    class Passing:
        stage = "observe"

        async def __call__(self, call, call_next):
            return await call_next(call)

    @hookimpl
    def zapomni_middleware():
        return [Passing()]

    ill = with_lifespan(stubborn, make_tool("ill"))
    ill.zapomni_middleware = zapomni_middleware
    app = load({"plugins": {"start_seconds": 0.05}}, ill=ill, well=offering(make_tool("well")))
    assert (await app.dispatcher.call("well", {}))["isError"] is False
    assert "0.05 s" in failure(app, "ill").cause
    await app.stop()
    release.set()


async def test_stopping_does_not_wait_for_a_lifespan_that_never_closes(monkeypatch):
    monkeypatch.setattr(lifespans, "CLOSE_SECONDS", 0.05)
    monkeypatch.setattr(lifespans, "CANCEL_SECONDS", 0.05)
    release = asyncio.Event()

    @asynccontextmanager
    async def stubborn():
        yield
        await ignore_cancellation(release)

    app = load(sample=with_lifespan(stubborn, make_tool("one")))
    await app.dispatcher.call("one", {})
    await app.stop()
    release.set()
    [warning] = app.report.get("sample").warnings
    assert "lifespan" in warning
    assert "0.05 s" in warning


async def test_a_lifespan_that_opens_after_its_limit_is_closed():
    closed = asyncio.Event()

    @asynccontextmanager
    async def late():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        yield
        closed.set()

    app = load({"plugins": {"start_seconds": 0.05}}, sample=with_lifespan(late))
    await app.start()
    await asyncio.wait_for(closed.wait(), 5)
    assert failure(app, "sample").stage == "lifespan"
    await app.stop()


async def test_a_failing_task_group_inside_a_lifespan_ends_the_lifespan(caplog):
    exited = asyncio.Event()

    async def crash():
        raise RuntimeError("worker")

    @asynccontextmanager
    async def working():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(crash())
                yield
        finally:
            exited.set()

    app = load(sample=with_lifespan(working))
    await app.start()
    await asyncio.wait_for(exited.wait(), 5)
    await app.stop()
    assert any(record.message == "lifespan_did_not_close" for record in caplog.records)


async def test_stopping_before_a_lifespan_is_ready_cancels_it():
    cancelled = asyncio.Event()

    @asynccontextmanager
    async def slow():
        try:
            await asyncio.Event().wait()
            yield
        finally:
            cancelled.set()

    app = load(sample=with_lifespan(slow))
    await app.start()
    await asyncio.sleep(0)
    await app.stop()
    assert cancelled.is_set()
