"""Wheels and source distributions have the right contents and work when installed."""

import ast
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from collections.abc import Iterable
from configparser import ConfigParser
from email.parser import Parser
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.e2e.stdio_server import environment

ROOT = Path(__file__).parents[2]
PLUGINS = sorted((ROOT / "plugins").glob("zapomni-plugin-*"))
PROJECTS = {folder.name: folder for folder in PLUGINS} | {"zapomni": ROOT}

pytestmark = [pytest.mark.venv, pytest.mark.xdist_group("packaging")]
every_project = pytest.mark.parametrize("project", PROJECTS)
every_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda folder: folder.name)


def run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def packages(project: str) -> list[str]:
    """The packages of a project."""
    return ["zapomni_core", "zapomni_db", "zapomni_mcp"] if project == "zapomni" else [project.replace("-", "_")]


def modules(project: str) -> Iterable[Path]:
    for package in packages(project):
        yield from (PROJECTS[project] / package).rglob("*.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the source distribution of every project; the wheels are built from the latter."""
    folder = tmp_path_factory.mktemp("dist")
    for source in PROJECTS.values():
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source)
    return folder


@pytest.fixture
def wheel(built, project) -> ZipFile:
    [file] = built.glob(f"{project.replace('-', '_')}-[0-9]*.whl")
    return ZipFile(file)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """The commands of a fresh environment that has the wheels; libraries are those of the environment of the tests.

    A folder that a .pth file names comes after the environment's own packages, and the .pth files in it are not read:
    what is installed in development mode there is out of reach.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.EnvBuilder(symlinks=True).create(folder)
    site = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(site, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--ignore-installed"]
    run(*pip, *built.glob("*.whl"))
    return folder / "bin"


@every_project
def test_a_wheel_has_every_module_and_nothing_else(wheel, project):
    names = set(wheel.namelist())
    assert {str(module.relative_to(PROJECTS[project])) for module in modules(project)} <= names
    assert {f"{package}/py.typed" for package in packages(project)} <= names
    tops = {name.partition("/")[0] for name in names}
    assert tops - set(packages(project)) == {top for top in tops if top.endswith(".dist-info")}
    assert not [name for name in names if "/test_" in name or "__pycache__" in name]


@every_project
def test_a_wheel_has_metadata_and_dependencies(wheel, project):
    wanted = tomllib.loads((PROJECTS[project] / "pyproject.toml").read_text())["project"]
    metadata = Parser().parsestr(read(wheel, "METADATA"))
    assert (metadata["Name"], metadata["Version"]) == (project, wanted["version"])
    assert (metadata["License-Expression"], metadata["Requires-Python"]) == ("MIT", ">=3.11")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# ")


@every_plugin
def test_the_wheel_of_a_plugin_has_its_entry_point(built, plugin):
    [file] = built.glob(f"{plugin.name.replace('-', '_')}-*.whl")
    points = entry_points(ZipFile(file))["zapomni.plugins"]
    assert dict(points) == {plugin.name.removeprefix("zapomni-plugin-"): plugin.name.replace("-", "_")}


@pytest.mark.parametrize("project", ["zapomni"])
def test_the_wheel_of_zapomni_has_its_command_and_its_licence(wheel, project):
    assert entry_points(wheel)["console_scripts"]["zapomni"] == "zapomni_mcp.cli:main"
    assert read(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text()


@every_project
def test_a_source_distribution_has_no_tests_and_no_docs(built, project):
    [file] = built.glob(f"{project.replace('-', '_')}-[0-9]*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "PKG-INFO"} <= names
    unwanted = ("docs", "benchmarks", "plugins", ".venv", ".ci") + ("tests",) * (project == "zapomni")
    assert not [name for name in names if name.startswith(unwanted)]


@every_project
def test_every_imported_library_is_a_dependency(wheel, project):
    metadata = Parser().parsestr(read(wheel, "METADATA"))
    declared = required(metadata.get_all("Requires-Dist", []))
    brought = declared.union(*(required(requires(name) or []) for name in declared))
    homes = packages_distributions()
    imported = {name for module in modules(project) if "testing" not in module.parts for name in imports(module)}
    ours = {"zapomni_core", "zapomni_db", "zapomni_mcp", *packages(project)} | set(sys.stdlib_module_names)
    missing = {
        name for name in imported - ours if not {canonicalize_name(home) for home in homes.get(name, [])} & brought
    }
    assert missing == set()


def test_the_installed_code_is_that_of_the_wheels(installed, tmp_path):
    code = "import zapomni_core, zapomni_mcp, zapomni_plugin_hello as h; print(zapomni_core.__file__, zapomni_mcp.__file__, h.__file__)"
    files = run(installed / "python", "-c", code, cwd=tmp_path, env=environment(tmp_path)).split()
    assert [Path(file).is_relative_to(installed.parent) for file in files] == [True, True, True]


def test_the_installed_command_prints_its_version(installed, tmp_path):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    told = run(installed / "zapomni", "--version", cwd=tmp_path, env=environment(tmp_path))
    assert told == f"zapomni {version}\n"


def test_the_installed_command_finds_and_loads_the_installed_plugins(installed, tmp_path):
    listed = json.loads(run(installed / "zapomni", "plugins", "--json", cwd=tmp_path, env=environment(tmp_path)))
    states = {one["distribution"]: one["state"] for one in listed["plugins"]}
    assert {plugin.name: states.get(plugin.name) for plugin in PLUGINS} == {plugin.name: "loaded" for plugin in PLUGINS}


@every_plugin
def test_an_installed_plugin_passes_the_plugin_contract(installed, plugin, tmp_path):
    """With the testing kit of the wheel, and without this repository. The other tests of the plugins run in it."""
    shutil.copytree(plugin / "tests", tmp_path / "tests")
    contract = tmp_path / "tests/test_contract.py"
    tests = contract if contract.exists() else tmp_path / "tests"
    options = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function", "-W", "error"]
    told = run(installed / "python", "-m", "pytest", *options, tests, cwd=tmp_path, env=environment(tmp_path))
    assert re.search(r"\d+ passed", told)


def read(wheel: ZipFile, name: str) -> str:
    [member] = [one for one in wheel.namelist() if one.endswith(f".dist-info/{name}")]
    return wheel.read(member).decode()


def entry_points(wheel: ZipFile) -> ConfigParser:
    parser = ConfigParser(delimiters="=")
    parser.read_string(read(wheel, "entry_points.txt"))
    return parser


def required(requirements: Iterable[str]) -> set[str]:
    """The names in requirements, without those that belong to an extra."""
    parsed = map(Requirement, requirements)
    return {canonicalize_name(one.name) for one in parsed if not one.marker or one.marker.evaluate({"extra": ""})}


def imports(module: Path) -> Iterable[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
