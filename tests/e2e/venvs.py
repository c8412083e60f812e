"""Builds a virtual environment with exactly the given plugins, without downloads.

Third-party libraries are those of the environment that the tests run in, and Zapomni's code is the repository's; but
its metadata and console script, and all of each plugin, are installed from wheels, as users have them.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("zapomni", "_editable_impl_")

BUILD_WHEELS = """
import sys
from hatchling.builders.wheel import WheelBuilder
for project in sys.argv[2:]:
    print(*WheelBuilder(project).build(directory=sys.argv[1], versions=["standard"]))
"""


def build_venv(folder: Path, projects: Iterable[Path]) -> Path:
    """Create the environment and return its bin folder."""
    venv.EnvBuilder(symlinks=True).create(folder)
    python = folder / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    _lend_libraries(site)
    wheels = _run(sys.executable, "-c", BUILD_WHEELS, folder / "wheels", ROOT, *projects).split()
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", *wheels)
    _use_code_of_the_repository(site)
    return python.parent


def _lend_libraries(site: Path) -> None:
    """Link the libraries one by one: packages in development mode, above all plugins, are left out."""
    for item in Path(sysconfig.get_path("purelib")).iterdir():
        left_out = item.name.startswith(OURS) or item.name == "__pycache__"
        if not left_out and (item.suffix != ".pth" or "coverage" in item.name):
            (site / item.name).symlink_to(item)


def _use_code_of_the_repository(site: Path) -> None:
    """Use one copy of the code, so that coverage counts it."""
    for package in ("zapomni_core", "zapomni_db", "zapomni_mcp"):
        shutil.rmtree(site / package)
    (site / "zapomni.pth").write_text(f"{ROOT}\n")


def _run(*command: object) -> str:
    """Run a command of other projects, without coverage, and return its output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
