"""`make` in a clone: what it does the second time, and what it says where there is no Python that will do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path):
    """A copy of the files that the Makefile reads, without an environment."""
    for file in [ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "plugins").glob("*/pyproject.toml")]:
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    return tmp_path


def make(clone, *arguments):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PYTHON", "MFLAGS"))}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=clone, env=env, capture_output=True, text=True, check=False, timeout=60)


def program(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_the_installation_is_repeated_only_if_a_project_file_changes(clone):
    program(clone / ".venv" / "bin" / "python", 'echo "$@" >> asked')
    first = make(clone, "venv")
    assert first.returncode == 0, first.stderr
    assert "pip install" in (clone / "asked").read_text()
    (clone / "asked").unlink()
    assert make(clone, "venv").returncode == 0
    assert not (clone / "asked").exists()
    later = (clone / ".venv" / ".installed").stat().st_mtime + 10
    os.utime(clone / "pyproject.toml", (later, later))
    make(clone, "venv")
    assert "pip install" in (clone / "asked").read_text()


def test_a_failed_installation_is_repeated(clone):
    program(clone / ".venv" / "bin" / "python", 'case "$*" in *install*) echo no network; exit 1;; esac')
    for _ in range(2):
        done = make(clone, "venv")
        assert done.returncode != 0
        assert "no network\npip could not install Zapomni; its output is above." in done.stderr


@pytest.mark.parametrize("goal", ["test", "demo", "venv"])
def test_a_python_that_is_too_old_is_reported(clone, goal):
    old = program(clone / "python3.9", "echo 3.9 is too old")
    done = make(clone, goal, f"PYTHON={old}")
    assert done.returncode != 0
    assert (
        f"Zapomni needs Python 3.11 or newer, and '{old}' is Python 3.9: name another, such as make {goal} PYTHON="
        in (done.stderr)
    )
    assert not (clone / ".venv").exists()


def test_a_missing_python_is_reported(clone):
    done = make(clone, "test", "PYTHON=no-such-python")
    assert done.returncode != 0
    assert "there is no 'no-such-python' here: install Python, or name one, such as make test PYTHON=" in done.stderr


def test_the_version_check_works_with_this_python():
    [question] = [line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("ASK := ")]
    done = subprocess.run(
        [sys.executable, "-c", question.removeprefix("ASK := ")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "{}.{} will do\n".format(*sys.version_info)
