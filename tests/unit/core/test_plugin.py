"""Plugins, their tests and the documentation import only from the public modules."""

import ast
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import zapomni_core
from zapomni_core import plugin

ROOT = Path(__file__).parents[3]
MODULES = [plugin, *(import_module(f"{plugin.__name__}.{one.name}") for one in iter_modules(plugin.__path__))]
FOR_PLUGINS = re.compile(r"zapomni_core\.plugin(\.\w+)?")
FOR_TESTS_AND_PROGRAMS = re.compile(
    r"zapomni_core(\.(plugin|testing)(\.\w+)*)?|zapomni_mcp(\.(testing|tools))?|zapomni_db"
)
OURS = ("zapomni_core", "zapomni_db", "zapomni_mcp")
SAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

SOURCES = sorted(ROOT.glob("plugins/*/zapomni_plugin_*/**/*.py"))
TESTS = sorted(ROOT.glob("plugins/*/tests/*.py"))
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("plugins/*/*.md"), *ROOT.glob("docs/[!_]*/*.md")})


def imported(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            is_program = node.module == "zapomni_core"
            hidden = [one.name for one in node.names if is_program and one.name not in zapomni_core.__all__]
            yield from (f"zapomni_core.{name} (not in __all__)" for name in hidden)
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def strays(source, allowed):
    return [name for name in imported(source) if name.startswith(OURS) and not allowed.fullmatch(name)]


def test_every_name_has_one_module():
    assert [name for name, count in Counter(n for one in MODULES for n in one.__all__).items() if count > 1] == []


def test_every_module_offers_what_it_lists():
    assert [name for one in MODULES for name in one.__all__ if not hasattr(one, name)] == []


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT / "plugins")))
def test_our_plugins_import_from_the_public_modules_only(file):
    assert strays(file.read_text(), FOR_PLUGINS) == []


@pytest.mark.parametrize("file", TESTS, ids=lambda file: str(file.relative_to(ROOT / "plugins")))
def test_the_tests_of_our_plugins_import_what_is_public_only(file):
    assert strays(file.read_text(), FOR_TESTS_AND_PROGRAMS) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_samples_in_the_documentation_import_what_is_public_only(page):
    assert [
        name for sample in SAMPLE.findall(page.read_text()) for name in strays(sample, FOR_TESTS_AND_PROGRAMS)
    ] == []
